/** The `layerwise` command: collects the commands, runs one, and turns errors into one line and an exit code. */
import { writeSync } from "node:fs";
import { createRequire } from "node:module";
import { CommanderError } from "commander";
import { LayerwiseError, messageOf } from "../base/index.ts";
import { Command } from "./command.ts";
import { commands } from "./commands.ts";
import { splitImports } from "./imports.ts";
import { withOurNames } from "./other-names.ts";
import { quietOnClosedPipes, quietUnlessFirst } from "./pipes.ts";

/** Adds the command that is asked for; help and misspelt names need no more than what the commands are for. */
async function addCommands(program: Command, [first = "", second = ""]: readonly string[]): Promise<void> {
  const name = first === "help" ? second : first;
  const known = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (known) (await known.load())(program);
  const listed = known ? [[name, known] as const] : Object.entries(commands);
  for (const [each, { about }] of listed) {
    (program.commands.find((command) => command.name() === each) ?? program.command(each)).description(about);
  }
}

/** The arguments without `--import FILE`; the files are loaded, since they may define what other flags say. */
async function withoutImports(args: readonly string[]): Promise<string[]> {
  const { files, rest } = splitImports(args);
  if (files.length > 0) await (await import("../tasks/index.ts")).importModules(files);
  return rest;
}

async function build(args: readonly string[]): Promise<Command> {
  const program = new Command("layerwise")
    .description("Transformers that choose their own layers: share, search and adapt depth.")
    .version(createRequire(import.meta.url)("../../package.json").version)
    .explain(`
Any command takes --import FILE: a module that may define words of --depth (docs/depth.md).

Begin with:
  layerwise train --preset tiny
  layerwise train --help`)
    .showSuggestionAfterError()
    // A flag of `glue` may mean another thing after `glue predict`.
    .enablePositionalOptions()
    .exitOverride();
  await addCommands(program, args);
  for (const command of program.commands) command.exitOverride();
  return program;
}

async function main(): Promise<void> {
  quietOnClosedPipes();
  quietUnlessFirst(rank);
  try {
    const args = await withoutImports(process.argv.slice(2));
    const program = await build(args);
    const { words, hints } = await withOurNames(program, args);
    for (const hint of hints) process.stderr.write(`layerwise: ${hint}\n`);
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else if (error instanceof LayerwiseError) fail(error.message, error.exitCode);
    else fail(process.env.LAYERWISE_DEBUG ? String((error as Error)?.stack) : messageOf(error), 1);
  }
}

/** Which of the processes that `mpirun` started this is. */
const rank = Number(process.env.OMPI_COMM_WORLD_RANK ?? 0);

/** Says what went wrong. Of several processes each says its own; a wrong request is the same for all. */
function fail(message: string, exitCode: number): void {
  const who = rank === 0 ? "layerwise" : `layerwise (process ${rank})`;
  if (rank === 0 || exitCode !== 2) writeSync(2, `${who}: ${message}\n`);
  process.exitCode = exitCode;
}

await main();
