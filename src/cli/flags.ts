/** What flags say: numbers, folders, and the layers of settings that preset, file and flags make. */
import { InvalidArgumentError } from "commander";
import type { Layer, SettingsSchema, Values } from "../runs/index.ts";
import { flagOf, schemaFor, settingsLayers, taskSettings, wordsAsSettings } from "../tasks/settings/index.ts";
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

/** Reads numbers between 0 and 1 with commas between. */
export function thresholdsIn(text: string): number[] {
  const values = text.split(",").map((each) => (each.trim() === "" ? Number.NaN : Number(each)));
  if (values.every((value) => value > 0 && value < 1)) return values;
  throw new InvalidArgumentError("It must be numbers above 0 and below 1 with commas between.");
}

/** Reads names with commas between. */
export const namesIn = (text: string): string[] => text.split(",").map((name) => name.trim());

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

/** The first of runs/1, runs/2, … (with a prefix: runs/search-1, …) that does not exist. */
export const freeFolder = async (prefix?: string): Promise<string> =>
  `runs/${(await import("../files/index.ts")).freeName("runs", prefix)}`;

/** What `train` and `compare` train: a language model, or one that translates. */
export const trainSchemas = (): Promise<readonly SettingsSchema[]> =>
  Promise.all([taskSettings.language(), taskSettings.translate()]);

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
