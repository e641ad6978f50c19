/** Settings of a command: fields with a default, a word and a test each; how presets, YAML files and flags lie one over the other. */
import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import { parse } from "yaml";
import { messageOf, reject, UserError } from "../base/errors.ts";
import { nearest } from "../base/nearest.ts";

/** A setting: its default, a word on it, and the test a value must pass (a sentence says what is wrong). */
export interface Field<T> {
  readonly value: T;
  readonly help: string;
  readonly check: (value: unknown) => string | undefined;
  readonly choices?: readonly string[];
}

const isWhole = (least: number) => (value: unknown) =>
  Number.isSafeInteger(value) && (value as number) >= least ? undefined : `a whole number from ${least}`;
const isReal = (least: number, below: number) => (value: unknown) =>
  typeof value === "number" && value >= least && value < below ? undefined : `a number from ${least} to below ${below}`;
const isText = (value: unknown) => (typeof value === "string" && value !== "" ? undefined : "a text");
const isFlag = (value: unknown) => (typeof value === "boolean" ? undefined : "true or false");

export const whole = (value: number, help: string, least = 1): Field<number> => ({
  value,
  help,
  check: isWhole(least),
});
export const real = (value: number, help: string, least = 0, below = Infinity): Field<number> => ({
  value,
  help,
  check: isReal(least, below),
});
export const text = (value: string, help: string): Field<string> => ({ value, help, check: isText });
/** Off unless given; one that is on by default is turned off with --no-…. */
export const flag = (help: string, value = false): Field<boolean> => ({ value, help, check: isFlag });

/** A setting that may be left open (null), and is unless a value is given. */
export function open<T>(field: Field<T>, value: T | null = null): Field<T | null> {
  return { ...field, value, check: (each) => (each === null ? undefined : field.check(each)) };
}

export function choice<T extends string>(choices: readonly T[], value: T, help: string): Field<T> {
  const check = (each: unknown) => (choices.includes(each as T) ? undefined : `one of ${choices.join(", ")}`);
  return { value, help, check, choices };
}

type Fields = Readonly<Record<string, Field<unknown>>>;
export type SettingsOf<F extends Fields> = { -readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never };

/** Settings from one place: a preset, a file, flags. */
export interface Layer<S> {
  readonly source: string;
  readonly values: Partial<S>;
}

const kebab = (key: string) => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
/** How a flag says that a setting is left open; commander has no place for null. */
const NONE = "none";
/** How long to train: a length given later replaces another given earlier. */
const lengths = ["steps", "epochs", "minutes"];

/** The settings of one command, which its errors name. */
export class Schema<F extends Fields> {
  readonly fields: F;
  readonly defaults: SettingsOf<F>;
  readonly #keys: readonly string[];
  readonly #command: string;

  constructor(fields: F, command: string) {
    this.fields = fields;
    this.#keys = Object.keys(fields);
    this.#command = command;
    this.defaults = Object.fromEntries(this.#keys.map((key) => [key, fields[key]!.value])) as SettingsOf<F>;
  }

  /** Checks names and values; `source` says where they come from. */
  checked(values: Readonly<Record<string, unknown>>, source: string): Partial<SettingsOf<F>> {
    for (const [key, value] of Object.entries(values)) {
      const field = this.fields[key] ?? this.#unknown(key, source);
      const needed = field.check(value);
      if (needed) reject({ who: `${source} / ${key}`, needed, got: JSON.stringify(value) }, 2);
    }
    return values as Partial<SettingsOf<F>>;
  }

  #unknown(key: string, source: string): never {
    const guess = nearest(key, this.#keys);
    const remedy = guess ? `did you mean ${guess}?` : `see layerwise ${this.#command} --help`;
    return reject({ who: source, needed: "a known key", got: key, remedy }, 2);
  }

  /** The keys of a YAML text. */
  parse(yaml: string, source: string): Partial<SettingsOf<F>> {
    let values: unknown;
    try {
      values = parse(yaml);
    } catch (error) {
      throw new UserError(`${source}: not YAML: ${messageOf(error)}`, 2);
    }
    if (values === null || values === undefined) return {};
    if (typeof values !== "object" || Array.isArray(values))
      reject({ who: source, needed: "keys with values", got: typeof values }, 2);
    return this.checked(values as Record<string, unknown>, source);
  }

  read(path: string): Partial<SettingsOf<F>> {
    let yaml: string;
    try {
      yaml = readFileSync(path, "utf8");
    } catch (error) {
      throw new UserError(`config: cannot read ${path}: ${messageOf(error)}`, 2);
    }
    return this.parse(yaml, path);
  }

  /** Later layers win; two lengths (steps, epochs, minutes) in one place are an error. */
  resolve(base: SettingsOf<F>, layers: readonly Layer<SettingsOf<F>>[]): SettingsOf<F> {
    let settings = base;
    for (const { source, values } of layers) {
      this.checked(values, source);
      const given = lengths.filter((key) => values[key] !== undefined && values[key] !== null);
      if (given.length > 1) {
        const got = given.join(" and ");
        reject({ who: source, needed: "one of steps, epochs and minutes", got, remedy: "leave one out" }, 2);
      }
      const replaced = given.length === 1 ? Object.fromEntries(lengths.map((key) => [key, null])) : {};
      settings = { ...settings, ...replaced, ...values };
    }
    return settings;
  }

  /** A flag for every setting. */
  addFlags(command: Command): Command {
    for (const [key, field] of Object.entries(this.fields)) command.addOption(optionOf(key, field));
    return command;
  }

  /** The settings among a command's options. */
  flagsOf(options: Readonly<Record<string, unknown>>): Partial<SettingsOf<F>> {
    const given = this.#keys.filter((key) => options[key] !== undefined);
    const values = given.map((key) => [key, options[key] === NONE ? null : options[key]]);
    return Object.fromEntries(values) as Partial<SettingsOf<F>>;
  }
}

function optionOf(key: string, field: Field<unknown>): Option {
  if (field.check === isFlag) {
    const name = field.value ? `--no-${kebab(key)}` : `--${kebab(key)}`;
    // Commander would take a negated flag for true unless told that nothing was given.
    return new Option(name, field.value ? `not: ${field.help}` : field.help).default(undefined);
  }
  const shown = field.value === null ? "" : ` (default: ${field.value})`;
  const option = new Option(`--${kebab(key)} <value>`, `${field.help}${shown}`);
  return field.choices ? option.choices(field.choices) : option.argParser((given) => flagValue(field, given));
}

/** The value of a flag: a number where the text is one and the setting takes it. */
function flagValue(field: Field<unknown>, given: string): unknown {
  if (given === NONE && field.check(null) === undefined) return NONE;
  if (field.check(given) === undefined) return given;
  const value = given.trim() === "" ? given : Number(given);
  const needed = field.check(value);
  if (needed) throw new InvalidArgumentError(`It must be ${needed}.`);
  return value;
}

/** A preset by name. */
export function presetFrom<T>(presets: Readonly<Record<string, T>>, name: string): T {
  const preset = presets[name];
  if (preset) return preset;
  const guess = nearest(name, Object.keys(presets));
  const remedy = guess ? `did you mean ${guess}?` : "leave it out";
  return reject({ who: "preset", needed: `one of ${Object.keys(presets).join(", ")}`, got: name, remedy }, 2);
}
