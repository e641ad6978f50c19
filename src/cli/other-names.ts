/** Flags that older versions or other tools call otherwise: taken for the flag they mean, with a hint. */
import type { Command, Option } from "commander";
import { flagOf } from "./flags.ts";

/** The words of a command line with flags as they are called here. */
export interface NamedWords {
  readonly words: readonly string[];
  /** A line for each flag that was called otherwise. */
  readonly hints: readonly string[];
}

const camel = (flag: string) => flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The command and, below it, the one that is meant. */
function deepest(command: Command, words: readonly string[]): Command[] {
  const next = command.commands.find((each) => each.name() === words[0] || each.aliases().includes(words[0] ?? ""));
  return next ? [command, ...deepest(next, words.slice(1))] : [command];
}

/** What the table of names says; it is loaded when a flag is not known. */
type NameHere = (word: string, known: readonly string[]) => string | undefined;

const takesValue = ({ required, optional, variadic }: Option) => required || optional || variadic;

/** Names flags as the program has them; what is the value of another flag stays as it is. */
export async function withOurNames(program: Command, words: readonly string[]): Promise<NamedWords> {
  const options = deepest(program, words).flatMap((command) => command.options);
  const own = new Set(["--help", ...options.map(({ long }) => long)]);
  const strangers = words.filter((word) => /^--[a-z]/i.test(word) && !own.has(word));
  if (strangers.length === 0) return { words, hints: [] };
  return renamed(words, options, (await import("../runs/index.ts")).nameHere);
}

function renamed(words: readonly string[], options: readonly Option[], nameHere: NameHere): NamedWords {
  const known = options.flatMap(({ long }) => (long ? [camel(long.slice(2))] : []));
  const hints: string[] = [];
  let isValue = false;
  let isRest = false;
  const named = words.map((word) => {
    const [, flag, value = ""] = /^--([a-z][\w-]*)(=.*)?$/is.exec(word) ?? [];
    isRest ||= word === "--" && !isValue;
    if (flag === undefined || isValue || isRest) {
      isValue = false;
      return word;
    }
    const own = known.includes(camel(flag)) ? undefined : nameHere(camel(flag), known);
    const long = own === undefined ? `--${flag}` : flagOf(own);
    if (own !== undefined) hints.push(`--${flag} is called ${long} here`);
    isValue = value === "" && options.some((option) => option.long === long && takesValue(option));
    return long + value;
  });
  return { words: named, hints: [...new Set(hints)] };
}
