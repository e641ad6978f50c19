/** `layerwise completion`: prints what a shell needs to complete command lines. */
import { Argument, type Command } from "commander";
import { type Shell, shells } from "../../base/index.ts";
import { type CommandTable, scriptFor } from "../completion.ts";
import { fitted } from "../help.ts";

const examples = `
Examples:
  eval "$(layerwise completion bash)"                 in ~/.bashrc
  eval "$(layerwise completion zsh)"                  in ~/.zshrc
  layerwise completion fish > ~/.config/fish/completions/layerwise.fish`;

export function addCompletion(program: Command, commands: CommandTable): void {
  program
    .command("completion")
    .addArgument(new Argument("<shell>", "the shell that completes").choices(shells))
    .addHelpText("after", fitted(examples))
    .action(async (shell: Shell) => void process.stdout.write(await scriptFor(shell, commands)));
}
