#!/usr/bin/env node
/** The `layerwise` command: collects the commands, runs one, and turns errors into one line and an exit code. */
import { Command, CommanderError } from "commander";
import { messageOf, UserError } from "../base/errors.ts";
import { packageVersion } from "../tasks/environment.ts";
import { type AddCommand, commands } from "./commands.ts";

/** Output that nobody reads any more (`… | head`) ends the program quietly. */
function quietOnClosedPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(0);
      throw error;
    });
  }
}

/** One command's file loads in a tenth of the time of all; help and misspelt names need all. */
async function chosen(name = ""): Promise<AddCommand[]> {
  const one = Object.hasOwn(commands, name) ? [commands[name]!] : Object.values(commands);
  return Promise.all(one.map((load) => load()));
}

async function build(): Promise<Command> {
  const program = new Command("layerwise")
    .description("Transformers that choose their own layers: share, search and adapt depth.")
    .version(packageVersion())
    .addHelpText("after", "\nBegin with:\n  layerwise train --preset tiny\n  layerwise train --help")
    .showSuggestionAfterError()
    // A flag of `glue` may mean another thing after `glue predict`.
    .enablePositionalOptions()
    .exitOverride();
  for (const add of await chosen(process.argv[2])) add(program);
  for (const command of program.commands) command.exitOverride();
  return program;
}

async function main(): Promise<void> {
  quietOnClosedPipe();
  try {
    await (await build()).parseAsync();
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else if (error instanceof UserError) fail(error.message, error.exitCode);
    else fail(process.env.LAYERWISE_DEBUG ? String((error as Error)?.stack) : messageOf(error), 1);
  }
}

function fail(message: string, exitCode: number): void {
  process.stderr.write(`layerwise: ${message}\n`);
  process.exitCode = exitCode;
}

await main();
