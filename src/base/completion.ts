/** Scripts that complete command lines in bash, zsh and fish, from a description of the commands. */

/** A flag of a command. */
export interface KnownFlag {
  readonly name: string;
  readonly about: string;
  readonly takesValue: boolean;
  /** What the value may be; none: a file, or anything. */
  readonly values: readonly string[];
}

/** A command and, in `words`, how it is called: `runs show`. */
export interface KnownCommand {
  readonly words: string;
  readonly about: string;
  /** What its first argument may be; none: a file, or anything. */
  readonly values: readonly string[];
  readonly flags: readonly KnownFlag[];
  readonly below: readonly KnownCommand[];
}

const everything = (all: readonly KnownCommand[]): KnownCommand[] =>
  all.flatMap((each) => [each, ...everything(each.below)]);
const lastWord = ({ words }: KnownCommand) => words.split(" ").at(-1)!;

/** The shells there are scripts for. */
export const shells = ["bash", "zsh", "fish"] as const;
/** A shell. */
export type Shell = (typeof shells)[number];

/** The script by which a shell completes a program's command lines. */
export function completionScript(shell: Shell, program: string, all: readonly KnownCommand[]): string {
  if (shell === "fish") return fishScript(program, all);
  const script = bashScript(program, all);
  return shell === "bash" ? script : `autoload -Uz compinit bashcompinit\ncompinit -u\nbashcompinit\n${script}`;
}

/** Words of a case, the longest first: `runs show` before `runs`. */
function bashScript(program: string, all: readonly KnownCommand[]): string {
  const each = everything(all).toSorted((a, b) => b.words.length - a.words.length);
  const pattern = ({ words }: KnownCommand) => (words.includes(" ") ? `"${words}"` : `"${words} "*`);
  const flags = each.map((one) => {
    const names = ["--help", ...one.flags.map(({ name }) => name)].join(" ");
    const below = [...one.below.map(lastWord), ...one.values].join(" ");
    return `    ${pattern(one)}) flags="${names}"; below="${below}"; known="${one.values.length > 0 ? 1 : ""}" ;;`;
  });
  const values = each.flatMap((one) => {
    const here = one.words.includes(" ") ? `"${one.words} ` : `"${one.words} "*" `;
    return one.flags
      .filter(({ takesValue }) => takesValue)
      .map(({ name, values }) => `    ${here}${name}") valued=1; values="${values.join(" ")}" ;;`);
  });
  return `# ${program} completion
_${program}() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  local at="\${COMP_WORDS[1]} \${COMP_WORDS[2]}" flags="" below="" known="" values="" valued=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${all.map(lastWord).join(" ")} --help --version" -- "$cur"))
    return
  fi
  case "$at" in
${flags.join("\n")}
  esac
  case "$at $prev" in
${values.join("\n")}
  esac
  if [ -n "$valued" ]; then
    if [ -n "$values" ]; then COMPREPLY=($(compgen -W "$values" -- "$cur")); else COMPREPLY=($(compgen -f -- "$cur")); fi
  elif [ "\${cur#-}" != "$cur" ]; then COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  else
    if [ -z "$known" ] || [ "$COMP_CWORD" -gt 2 ]; then COMPREPLY=($(compgen -f -- "$cur")); fi
    if [ "$COMP_CWORD" -eq 2 ]; then COMPREPLY+=($(compgen -W "$below" -- "$cur")); fi
  fi
}
complete -o filenames -F _${program} ${program}
`;
}

const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
/** The first words of a description. */
const brief = (text: string) => (text.length <= 60 ? text : `${text.slice(0, 59)}…`);

/** Where the first argument of a command is being written: its name is what stands last. */
const firstArgument = (program: string, { words }: KnownCommand) => {
  const seen = words.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`);
  const count = `test (count (commandline -opc)) -eq ${1 + seen.length}`;
  return `complete -c ${program} -n ${quoted([...seen, count].join("; and "))}`;
};

function fishScript(program: string, all: readonly KnownCommand[]): string {
  const first = all.map((one) => {
    return `complete -c ${program} -n __fish_use_subcommand -f -a ${lastWord(one)} -d ${quoted(brief(one.about))}`;
  });
  const rest = everything(all).flatMap((one) => {
    const seen = one.words.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`);
    const when = `complete -c ${program} -n ${quoted(seen.join("; and "))}`;
    const below = one.below.map((each) => `${when} -a ${lastWord(each)} -d ${quoted(brief(each.about))}`);
    const values =
      one.values.length > 0 ? [`${firstArgument(program, one)} -f -a ${quoted(one.values.join(" "))}`] : [];
    const flags = one.flags.map(({ name, about, takesValue, values }) => {
      const value = values.length > 0 ? ` -x -a ${quoted(values.join(" "))}` : takesValue ? " -r" : "";
      return `${when} -l ${name.slice(2)}${value} -d ${quoted(brief(about))}`;
    });
    return [...below, ...values, ...flags];
  });
  return `# ${program} completion\n${[...first, ...rest].join("\n")}\n`;
}
