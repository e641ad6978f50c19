/** Flags: an option per setting of a task, the layers that preset, file and flags make, and numbers as flags. */
import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import { reject } from "../base/index.ts";
import type { FieldInfo, Layer, SettingsSchema, Values } from "../runs/index.ts";
import {
  flagOf,
  remarksOn,
  type SettingUse,
  schemaFor,
  settingsLayers,
  wordsAsSettings,
} from "../tasks/settings/index.ts";
import { say } from "./output.ts";

const reader =
  (what: string, isOne: (value: number) => boolean) => (least: number, most?: number) => (text: string) => {
    const value = text.trim() === "" ? Number.NaN : Number(text);
    if (isOne(value) && value >= least && value <= (most ?? Infinity)) return value;
    throw new InvalidArgumentError(`It must be ${what} from ${least}${most === undefined ? "" : ` to ${most}`}.`);
  };
/** Reads a whole number from `least` on, to `most` at most. */
export const wholeFrom = reader("a whole number", Number.isSafeInteger);
/** Reads a whole number from 1 on. */
export const whole = wholeFrom(1);
/** Reads a number within limits, both included. */
export const numberFrom = reader("a number", Number.isFinite);

/** What --on may be, for commands whose runs are made in their own process unless it is given. */
export const ON =
  "where runs are made: local:N, redis://host, slurm:N or kubernetes:N (default: one after another here)";

/** What a command was given. */
export type Flags = Readonly<Record<string, unknown>>;
/** The flags that every command with settings has. */
export interface SettingsFlags extends Flags {
  readonly preset?: string;
  readonly config?: string;
  readonly task?: string;
  readonly out?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** The flags besides settings that a command has; each text says what it does there. */
export interface RunFlags {
  /** Default: a run folder, called by `prefix` and a number. */
  readonly out?: string;
  readonly prefix?: string;
  /** Default: there is no such flag. */
  readonly dryRun?: string;
  readonly json?: string;
}

/** The first of runs/1, runs/2, … (with a prefix: runs/search-1, …) that does not exist. */
export const freeFolder = async (prefix?: string): Promise<string> =>
  `runs/${(await import("../files/index.ts")).freeName("runs", prefix)}`;

/** What the value of an option or argument may be where it is checked elsewhere, for completion. */
export const suggestedValues = new WeakMap<Option | Argument, readonly string[]>();

/** An argument that is checked elsewhere, with what it may be. */
export function argumentAmong(name: string, about: string, values: readonly string[]): Argument {
  const argument = new Argument(name, about);
  suggestedValues.set(argument, values);
  return argument;
}

/** Adds --out, --preset, --config, --json and, where it is described, --dry-run. */
export function addRunFlags(command: Command, schemas: readonly SettingsSchema[], about: RunFlags): Command {
  const { prefix = "", dryRun, json = "print only JSON" } = about;
  const presets = new Set(schemas.flatMap(({ presets }) => Object.keys(presets)));
  const preset = new Option("--preset <name>", `a named set of settings: ${[...presets].join(", ")}`);
  suggestedValues.set(preset, [...presets]);
  command
    .option("--out <dir>", about.out ?? `run folder (default: runs/${prefix}1, or the next free number)`)
    .addOption(preset)
    .option("--config <file>", "settings from a YAML file, or the config.yaml of another run");
  if (dryRun !== undefined) command.option("--dry-run", dryRun);
  return command.option("--json", json);
}

/** --task, for commands of several tasks. */
export const taskOption = (schemas: readonly SettingsSchema[]): Option =>
  new Option("--task <name>", "the next token of a text, or translation (default: language)").choices(
    schemas.map(({ task }) => task),
  );

/** Which settings a command takes as flags. */
export interface SettingOptions {
  /** Whether help shows defaults; not where what is not given comes from elsewhere. */
  readonly defaults?: boolean;
  /** Settings that mean nothing to the command. */
  readonly without?: readonly string[];
}

/** Adds a flag for every setting of the schemas, under the headings of their groups. */
export function addSettings(command: Command, schemas: readonly SettingsSchema[], how: SettingOptions = {}): Command {
  const known = new Map<string, SettingUse[]>();
  for (const schema of schemas) {
    for (const info of schema.describe().filter(({ key }) => !how.without?.includes(key))) {
      known.set(info.key, [...(known.get(info.key) ?? []), { task: schema.task, info }]);
    }
  }
  for (const uses of known.values()) {
    const remarks = how.defaults === false ? [] : remarksOn(uses, schemas.length);
    for (const option of optionsOf(uses[0]!.info, remarks)) command.addOption(option);
  }
  return command;
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

/** Refuses a fine-tuning that begins from nothing, or from two things at once. */
export function refuseOrigin(command: string, needed: string, from: string | undefined, scratch = false): void {
  if ((from === undefined) === scratch) return;
  const got = scratch ? "both" : "neither";
  reject({ who: command, needed, got, remedy: `see layerwise ${command} --help` }, 2);
}

/** The settings among a command's flags. */
export function settingsIn<S extends object>(schema: SettingsSchema<S, object>, flags: Flags): Partial<S> {
  return schema.check(wordsAsSettings(schema, flags), "flags", flagOf);
}

/** Preset, file and flags as layers, the last one on top. */
export async function layersFrom<S extends object>(
  schema: SettingsSchema<S, object>,
  flags: SettingsFlags,
): Promise<Layer<S>[]> {
  return [...(await settingsLayers(schema, flags, say)), { source: "flags", values: settingsIn(schema, flags) }];
}

/** Settings as they are when a run begins: defaults < `below` < preset < file < flags. */
export async function settingsFrom<S extends object, R extends object>(
  schema: SettingsSchema<S, R>,
  flags: SettingsFlags,
  below: readonly Layer<S>[] = [],
): Promise<R> {
  return schema.resolve([...below, ...(await layersFrom(schema, flags))]);
}

/** The one of a command's tasks that --task, the file or the preset names; the first where none does. Flags of another task are refused. */
export async function schemaFrom<T extends SettingsSchema>(schemas: readonly T[], flags: SettingsFlags): Promise<T> {
  const schema = await schemaFor(schemas, flags);
  for (const other of schemas) if (other !== schema) schema.check(foreign(schema, other, flags), "flags");
  return schema;
}

const foreign = (schema: SettingsSchema, other: SettingsSchema, flags: Flags): Values =>
  Object.fromEntries(Object.entries(wordsAsSettings(other, flags)).filter(([key]) => !schema.keys.includes(key)));
