/** `layerwise completion`: prints what a shell needs to complete command lines. */
import { type Command as AnyCommand, Argument, type Option } from "commander";
import { completionScript, type KnownCommand, type KnownFlag, type Shell, shells } from "../../base/index.ts";
import { Command, type CommandEntry, suggestedValues } from "../command.ts";

const examples = `
Examples:
  eval "$(layerwise completion bash)"                 in ~/.bashrc
  eval "$(layerwise completion zsh)"                  in ~/.zshrc
  layerwise completion fish > ~/.config/fish/completions/layerwise.fish`;

/** The commands by name, as the program has them. */
type CommandTable = Readonly<Record<string, CommandEntry>>;

export function addCompletion(program: Command, commands: CommandTable): void {
  program
    .command("completion")
    .addArgument(new Argument("<shell>", "the shell that completes").choices(shells))
    .explain(examples)
    .action(async (shell: Shell) => void process.stdout.write(await scriptFor(shell, commands)));
}

const valuesOf = (of: Option | Argument) => of.argChoices ?? suggestedValues.get(of) ?? [];

const knownFlag = (option: Option): KnownFlag => ({
  name: option.long!,
  about: option.description,
  takesValue: option.required || option.optional,
  values: valuesOf(option),
});

const known = (command: AnyCommand, before: string, about = command.description()): KnownCommand => ({
  words: `${before}${command.name()}`,
  about,
  values: command.registeredArguments.slice(0, 1).flatMap(valuesOf),
  flags: command.options.filter(({ long, hidden }) => long && !hidden).map(knownFlag),
  below: command.commands.map((each) => known(each, `${before}${command.name()} `)),
});

async function knownCommands(commands: CommandTable): Promise<KnownCommand[]> {
  const found: KnownCommand[] = [];
  for (const [name, { about, load }] of Object.entries(commands)) {
    const program = new Command();
    (await load())(program);
    found.push(known(program.commands.find((each) => each.name() === name)!, "", about));
  }
  return [...found, { words: "help", about: "explain a command", values: Object.keys(commands), flags: [], below: [] }];
}

/** The script of a shell for this program. */
export const scriptFor = async (shell: Shell, commands: CommandTable): Promise<string> =>
  completionScript(shell, "layerwise", await knownCommands(commands));
