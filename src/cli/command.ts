/** Commander's command with the flags that several commands have, and with help that fits the terminal. */
import { type AddHelpTextContext, Argument, Command as Base, InvalidArgumentError, Option } from "commander";
import { laidOut } from "../base/index.ts";
import type { ExitRule } from "../depth/index.ts";
import type { CheckpointChoice, FieldInfo, SettingsSchema } from "../runs/index.ts";
import { flagOf, parseExitRule, remarksOn, type SettingUse } from "../tasks/settings/index.ts";
import { numberFrom, wholeFrom } from "./flags.ts";

/** A command of the program: what it does, in a line, and the function that adds it. */
export interface CommandEntry {
  readonly about: string;
  readonly load: () => Promise<(program: Command) => void>;
}

/** What the value of an option or argument may be where it is checked elsewhere, for completion. */
export const suggestedValues = new WeakMap<Option | Argument, readonly string[]>();

/** The flags of a command with settings; each text says what the flag does there. */
export interface SettingsAbout {
  /** Default: a run folder, called by `prefix` and a number. */
  readonly out?: string;
  readonly prefix?: string;
  /** Default: there is no such flag. */
  readonly dryRun?: string | undefined;
  /** Whether help shows defaults; not where what is not given comes from elsewhere. */
  readonly defaults?: boolean;
  /** Settings that mean nothing to the command. */
  readonly without?: readonly string[];
}

/** A command, and those below it. */
export class Command extends Base {
  override createCommand(name?: string): Command {
    return new Command(name);
  }

  /** Sentences and examples after the options. */
  explain(text: string): this {
    return this.addHelpText("after", fitted(text));
  }

  /** Examples alone, a line each. */
  examples(...lines: readonly string[]): this {
    return this.explain(`\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`);
  }

  /** An argument that is checked elsewhere, with what it may be. */
  argumentAmong(name: string, values: readonly string[], about?: string): this {
    const argument = new Argument(name, about ?? `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`);
    suggestedValues.set(argument, values);
    return this.addArgument(argument);
  }

  /** An option that has one of several values. */
  choice(flags: string, about: string, values: readonly string[], value?: string): this {
    return this.addOption(new Option(flags, about).choices(values).default(value));
  }

  /** `--split`, of the corpus that a run is used on. */
  splits(): this {
    return this.choice("--split <split>", "which part of the corpus", ["train", "valid", "test"], "valid");
  }

  /** `--int8`, for commands that only use a model. */
  int8(): this {
    return this.option("--int8", "multiply by weights in 8-bit integers: faster, and nearly as exact");
  }

  /** `--checkpoint last|best|STEP`, for every command that uses a run. */
  checkpoint(): this {
    const about = "last, best, or a step (default: best where there is one, else last)";
    return this.option("--checkpoint <which>", about, checkpointChoice);
  }

  /** What models with memory or with a choice of blocks may be told when they are used. */
  segments(): this {
    const memory = "steps of memory, where the model has one (default: as the run evaluates)";
    const mixture = "how blocks that a search has not decided are mixed: by π, or the likeliest alone";
    this.option("--evaluation-memory <n>", memory, wholeFrom(0));
    return this.choice("--mixture <how>", mixture, ["mean", "arg-max"]);
  }

  /** What a model's depth may be told when it is used; `threshold` says what that is. */
  depths(threshold = "score above which a routed token goes on"): this {
    const exit = "where tokens leave a model with exits: last, weighted, quantile:0.5, difference:0.1 …";
    const keys =
      "what tokens that stopped show to the others; tokens that leave at an exit then stop, which saves their time";
    return this.option("--loops <n>", "run looped blocks so often, also more often than in training", wholeFrom(1))
      .option("--cap <n>", "deepest depth of models that halt, route or drop layers", wholeFrom(1))
      .option("--threshold <x>", threshold, numberFrom(0, 1))
      .option("--exit <rule>", exit, exitRule)
      .choice("--keys <which>", keys, ["own", "first", "last", "running"]);
  }

  /** --task, for commands of several tasks. */
  tasks(schemas: readonly SettingsSchema[]): this {
    const names = schemas.map(({ task }) => task);
    return this.choice("--task <name>", "the next token of a text, or translation (default: language)", names);
  }

  /** --out, --preset, --config, --json and, where it is described, --dry-run; then a flag for every setting of the schemas, under the headings of their groups. */
  settings(schemas: readonly SettingsSchema[], about: SettingsAbout = {}): this {
    const { prefix = "", dryRun, without = [], defaults = true } = about;
    const presets = new Set(schemas.flatMap(({ presets }) => Object.keys(presets)));
    const preset = new Option("--preset <name>", `a named set of settings: ${[...presets].join(", ")}`);
    suggestedValues.set(preset, [...presets]);
    this.option("--out <dir>", about.out ?? `run folder (default: runs/${prefix}1, or the next free number)`)
      .addOption(preset)
      .option("--config <file>", "settings from a YAML file, or the config.yaml of another run");
    if (dryRun !== undefined) this.option("--dry-run", dryRun);
    this.option("--json", "print only JSON");
    const known = new Map<string, SettingUse[]>();
    for (const schema of schemas) {
      for (const info of schema.describe().filter(({ key }) => !without.includes(key))) {
        known.set(info.key, [...(known.get(info.key) ?? []), { task: schema.task, info }]);
      }
    }
    for (const uses of known.values()) {
      const options = optionsOf(uses[0]!.info, defaults ? remarksOn(uses, schemas.length) : []);
      for (const option of options) this.addOption(option);
    }
    return this;
  }
}

/** Text for `addHelpText`, fitted to the terminal when it is shown. */
export const fitted =
  (text: string) =>
  ({ command }: AddHelpTextContext) =>
    laidOut(text, command.createHelp().helpWidth ?? process.stdout.columns ?? 80);

function checkpointChoice(text: string): CheckpointChoice {
  if (text === "last" || text === "best") return text;
  const step = Number(text);
  if (!Number.isSafeInteger(step) || step < 0) throw new InvalidArgumentError("It must be last, best or a step.");
  return step;
}

function exitRule(text: string): ExitRule {
  const rule = parseExitRule(text);
  if (rule) return rule;
  throw new InvalidArgumentError("It must be a rule, such as last, or with a level, such as difference:0.1.");
}

/** The option of a setting and, hidden, its opposite: a file may say otherwise. */
function optionsOf({ key, kind, group, description, ...info }: FieldInfo, remarks: readonly string[]): Option[] {
  const about = remarks.length === 0 ? description : `${description} (${remarks.join("; ")})`;
  const made = (flags: string, text: string) => new Option(flags, text).helpGroup(`${group ?? "Options"}:`);
  const off = made(flagOf(`no${key.slice(0, 1).toUpperCase()}${key.slice(1)}`), `not: ${about}`);
  if (kind === "switch") {
    const on = made(flagOf(key), about);
    // The positive one first: commander would take the other alone for a default of true.
    return info.value === true ? [on.hideHelp(), off] : [on, off.hideHelp()];
  }
  const option = made(`${flagOf(key)} <value>`, about);
  if (kind === "choice") option.choices(info.choices);
  return info.optional && info.value !== null ? [option, off.hideHelp()] : [option];
}
