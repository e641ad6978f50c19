/** Flags that older versions or other tools call otherwise: taken for the flag they mean, with a hint. */
import type { Command } from "commander";
import type { NamedWords } from "../runs/index.ts";

/** The command and, below it, the one that is meant. */
function deepest(command: Command, words: readonly string[]): Command[] {
  const next = command.commands.find((each) => each.name() === words[0] || each.aliases().includes(words[0] ?? ""));
  return next ? [command, ...deepest(next, words.slice(1))] : [command];
}

/** Names flags as the program has them; the table of names is loaded when a flag is not known. */
export async function withOurNames(program: Command, words: readonly string[]): Promise<NamedWords> {
  const options = deepest(program, words).flatMap((command) => command.options);
  const own = new Set(["--help", ...options.map(({ long }) => long)]);
  if (!words.some((word) => /^--[a-z]/i.test(word) && !own.has(word))) return { words, hints: [] };
  const { namedFlags } = await import("../runs/index.ts");
  const flags = options.flatMap(({ long, required, optional, variadic }) =>
    long ? [{ long, takesValue: required || optional || variadic }] : [],
  );
  return namedFlags(words, flags);
}
