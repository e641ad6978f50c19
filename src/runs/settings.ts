/** Settings of a task: fields, presets, and how presets, files and flags lie one over the other. */
import { reject } from "../base/errors.ts";
import { nearest } from "../base/nearest.ts";
import {
  checkValue,
  defaultsOf,
  type Field,
  type FieldInfo,
  type Fields,
  infoOf,
  type JsonSchema,
  jsonSchemaOf,
  type ValuesOf,
} from "./fields.ts";
import { nameMeant, withNames } from "./names.ts";

/** Plain values by name, not checked yet. */
export type Values = Readonly<Record<string, unknown>>;

/** Settings from one place: a preset, a file, flags. */
export interface Layer<S> {
  readonly source: string;
  readonly values: Partial<S>;
  /** Presets give way where a later layer says the same in other words; what a person wrote is refused beside it. */
  readonly givesWay?: true;
}

/** The settings of one task: `S` as they are given, `R` as they are when a run begins. */
export interface SettingsSchema<S extends object = object, R extends object = S> {
  /** `language`, `translate`, `search`, `pretrain` or `finetune`. */
  readonly task: string;
  readonly fields: Fields;
  readonly keys: readonly string[];
  readonly defaults: S;
  readonly presets: Readonly<Record<string, Partial<S>>>;
  /**
   * Checks names and values, and copies them; `source` says where they come from, `who` what a key is called there. A key `task`, if
   * given, must name this task.
   */
  check(values: Values, source: string, who?: (key: string) => string): Partial<S>;
  /** A preset by name, as a layer. */
  preset(name: string): Layer<S>;
  /** What layers say together, the last on top. Two lengths (steps, epochs, minutes) in one layer are an error; a later length replaces an earlier one, and a depth in words what a preset says of depth. */
  merge(layers: readonly Layer<S>[]): Partial<S>;
  /** defaults < layers, and what follows from them. */
  resolve(layers: readonly Layer<S>[]): R;
  /** What help, flags and forms need to know about each field. */
  describe(): FieldInfo[];
  /** JSON Schema (draft 2020-12) for editors and forms. */
  jsonSchema(): JsonSchema;
  /** Text for config.yaml. */
  yaml(settings: Partial<S>): string;
}

/** The settings of a schema as they are when a run begins. */
export type Resolved<T extends { resolve(layers: never): object }> = ReturnType<T["resolve"]>;

/** What a schema has besides its fields. */
export interface SettingsOptions<S, D extends object> {
  /** The command that its errors name; default: the task's name. */
  readonly command?: string;
  readonly presets?: Readonly<Record<string, Partial<S>>>;
  /** Defaults that depend on what is given, such as those of another procedure. */
  readonly usual?: (given: Partial<S>) => Partial<S>;
  /** Settings of a preset that a later layer's values end, such as its halting where a depth in words says all of it. */
  readonly ends?: (values: Partial<S>) => readonly string[];
  /** Values that depend on others, such as the learning rate on the optimiser. */
  readonly derive?: (settings: S) => D;
  /** Settings that another task has and this one has not: key → for whom they are. */
  readonly elsewhere?: Readonly<Record<string, string>>;
  /** A task with more settings, of which files are taken too; what only that task has is left out. */
  readonly wider?: SettingsSchema;
}

interface Parts {
  readonly task: string;
  readonly command: string;
  readonly fields: Fields;
  readonly keys: readonly string[];
  readonly elsewhere: Readonly<Record<string, string>>;
}

/** The schema of a task's settings. */
export function defineSettings<F extends Fields, D extends object = object>(
  task: string,
  fields: F,
  options: SettingsOptions<ValuesOf<F>, D> = {},
): SettingsSchema<ValuesOf<F>, Omit<ValuesOf<F>, keyof D> & D> {
  type S = ValuesOf<F>;
  const { command = task, presets = {}, usual, ends, derive, elsewhere = {}, wider } = options;
  const keys = Object.keys(fields);
  const parts = { task, command, fields, keys, elsewhere };
  const defaults = defaultsOf(fields);
  const check = (values: Values, source: string, who = (key: string) => `${source} / ${key}`) =>
    (wider && values.task === wider.task
      ? pick(wider.check(values, source, who), keys)
      : checkValues(parts, values, source, who)) as Partial<S>;
  const merge = (layers: readonly Layer<S>[]): Partial<S> =>
    Object.assign(
      {},
      ...layers.map(({ source, values, givesWay }, i) => {
        const over = laidOver(parts, { source, values: check(values, source) });
        const ended = givesWay && ends ? layers.slice(i + 1).flatMap((later) => ends(later.values)) : [];
        return pick(
          over,
          keys.filter((key) => !ended.includes(key)),
        );
      }),
    );
  return {
    task,
    fields,
    keys,
    defaults,
    presets,
    check,
    preset: (name) => ({ source: `preset ${name}`, values: presetNamed(presets, name), givesWay: true }),
    merge,
    resolve: (layers) => {
      const given = merge(layers);
      const settings = { ...defaultsOf(fields), ...usual?.(given), ...given };
      return { ...settings, ...(derive?.(settings) as D) };
    },
    describe: () => keys.map((key) => infoOf(key, fields[key]!)),
    jsonSchema: () => jsonSchema(parts, presets),
    yaml: (settings) => yamlText({ task, ...pick(settings, keys) }),
  };
}

function checkValues(parts: Parts, { task, ...named }: Values, source: string, who: (key: string) => string): Values {
  const values = withNames(named, parts.keys, source);
  if (task !== undefined && task !== parts.task) reject({ who: who("task"), needed: parts.task, got: shown(task) }, 2);
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  for (const [key] of given) if (!Object.hasOwn(parts.fields, key)) refuseKey(parts, key, source);
  return Object.fromEntries(given.map(([key, value]) => [key, checkOne(parts.fields[key]!, value, who(key))]));
}

function checkOne(field: Field, value: unknown, who: string): unknown {
  const found = checkValue(field, value);
  if ("value" in found) return found.value;
  const { path, needed, got } = found.fault;
  return reject({ who: [who, ...path.map(String)].join(" / "), needed, got: shown(got) }, 2);
}

function refuseKey({ task, command, keys, elsewhere }: Parts, key: string, source: string): never {
  if (Object.hasOwn(elsewhere, key)) {
    reject({ who: source, needed: `settings of task ${task}`, got: key, remedy: `it is for ${elsewhere[key]}` }, 2);
  }
  const guess = nameMeant(key, keys);
  const remedy = guess ? `did you mean ${guess}?` : `see layerwise ${command} --help`;
  return reject({ who: source, needed: "a known key", got: key, remedy }, 2);
}

/** NaN and the infinities have no JSON. */
const shown = (value: unknown) => (typeof value === "number" ? `${value}` : (JSON.stringify(value) ?? "nothing"));

/** A preset by name. */
export function presetNamed<T>(presets: Readonly<Record<string, T>>, name: string): T {
  if (Object.hasOwn(presets, name)) return presets[name]!;
  const guess = nearest(name, Object.keys(presets));
  const remedy = guess ? `did you mean ${guess}?` : "leave it out";
  return reject({ who: "preset", needed: `one of ${Object.keys(presets).join(", ")}`, got: name, remedy }, 2);
}

/** How long to train. */
const lengths = ["steps", "epochs", "minutes"];

/** What a layer changes in those below it: a length ends the other lengths. */
function laidOver<S extends object>({ keys }: Parts, { source, values }: Layer<S>): Partial<S> {
  const known = lengths.filter((key) => keys.includes(key));
  const given = known.filter((key) => (values as Values)[key] !== undefined && (values as Values)[key] !== null);
  if (given.length > 1) {
    const needed = `one of ${known.slice(0, -1).join(", ")} and ${known.at(-1)}`;
    reject({ who: source, needed, got: given.join(" and "), remedy: "leave one out" }, 2);
  }
  return given.length === 0 ? values : { ...Object.fromEntries(known.map((key) => [key, null])), ...values };
}

function jsonSchema({ task, fields }: Parts, presets: Readonly<Record<string, object>>): JsonSchema {
  const { $schema, properties, ...rest } = jsonSchemaOf(fields);
  const own = { const: task, description: "the task that the settings are for" };
  return {
    ...($schema ? { $schema } : {}),
    title: `layerwise: settings of ${task}`,
    ...rest,
    properties: { task: own, ...properties },
    "x-presets": presets,
  };
}

function pick<S extends object>(settings: S, keys: readonly string[]): Values {
  return Object.fromEntries(Object.entries(settings).filter(([key]) => keys.includes(key)));
}

/** YAML of plain values, a line per key; writing it needs no library, and JSON is YAML. */
export function yamlText(values: Values): string {
  return Object.entries(values)
    .map(([key, value]) => `${key}: ${yamlValue(value)}\n`)
    .join("");
}

/** Words that are texts in every YAML need no quotes. */
const isPlain = (word: string) =>
  /^[A-Za-z/]([\w./-]|:(?=\w))*$/.test(word) && !/^(null|true|false|yes|no|on|off|y|n)$/i.test(word);

function yamlValue(value: unknown): string {
  if (typeof value === "string") return isPlain(value) ? value : JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(yamlValue).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([key, each]) => `${key}: ${yamlValue(each)}`)
    .join(", ")} }`;
}
