/** The `layerwise` command: collects the commands, runs one, and turns errors into one line and an exit code. */
import { createRequire } from "node:module";
import { Command, CommanderError } from "commander";
import { LayerwiseError, messageOf } from "../base/index.ts";
import { commands } from "./commands.ts";
import { fitted } from "./help.ts";
import { withOurNames } from "./other-names.ts";
import { quietOnClosedPipes } from "./pipes.ts";

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

async function build(): Promise<Command> {
  const program = new Command("layerwise")
    .description("Transformers that choose their own layers: share, search and adapt depth.")
    .version(createRequire(import.meta.url)("../../package.json").version)
    .addHelpText("after", fitted("\nBegin with:\n  layerwise train --preset tiny\n  layerwise train --help"))
    .showSuggestionAfterError()
    // A flag of `glue` may mean another thing after `glue predict`.
    .enablePositionalOptions()
    .exitOverride();
  await addCommands(program, process.argv.slice(2));
  for (const command of program.commands) command.exitOverride();
  return program;
}

async function main(): Promise<void> {
  quietOnClosedPipes();
  try {
    const program = await build();
    const { words, hints } = await withOurNames(program, process.argv.slice(2));
    for (const hint of hints) process.stderr.write(`layerwise: ${hint}\n`);
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else if (error instanceof LayerwiseError) fail(error.message, error.exitCode);
    else fail(process.env.LAYERWISE_DEBUG ? String((error as Error)?.stack) : messageOf(error), 1);
  }
}

function fail(message: string, exitCode: number): void {
  process.stderr.write(`layerwise: ${message}\n`);
  process.exitCode = exitCode;
}

await main();
