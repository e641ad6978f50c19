/** Settings in YAML: a user's file, or the config.yaml of a run. Apart from the schema, since reading YAML takes a library that writing does not. */
import { isScalar, parseDocument, visit, type YAMLMap } from "yaml";
import { LayerwiseError, messageOf, reject, rejectFile } from "../base/errors.ts";
import { migrate, migrateRun } from "./migration.ts";
import type { SettingsSchema, Values } from "./settings.ts";

/** Real settings have a few thousand; a list of labels may make them longer. */
const MOST_CHARACTERS = 2 ** 17;

/** What a reader of settings may be told. */
export interface YamlLimits {
  /** Characters that a text may have. Default: 131,072. */
  maxCharacters?: number | undefined;
}

/** The keys of a YAML text. */
export function parseYaml(yaml: string, source: string, { maxCharacters = MOST_CHARACTERS }: YamlLimits = {}): Values {
  if (yaml.length > maxCharacters) {
    const needed = `settings of at most ${maxCharacters} characters`;
    rejectFile({ who: source, needed, got: `${yaml.length}`, remedy: "if they are meant, raise maxCharacters" }, 2);
  }
  const values = plainValues(yaml) ?? valuesIn(yaml, source);
  if (values === null || values === undefined) return {};
  if (typeof values !== "object" || Object.getPrototypeOf(values) !== Object.prototype)
    reject({ who: source, needed: "keys with values", got: Array.isArray(values) ? "a list" : typeof values }, 2);
  return values as Values;
}

/** A found network keeps all settings of its search. */
const keptAs = (task: string) => (task === "retrain" ? "search" : task);

/** What we write ourselves, a key with a plain value a line, needs no library, which is slow; anything else is left to it. */
function plainValues(yaml: string): Values | undefined {
  const values: Record<string, unknown> = {};
  for (const line of yaml.trimEnd().split("\n")) {
    const [, key, word] = /^([A-Za-z]\w*): (.+)$/.exec(line) ?? [];
    const value = key === undefined || Object.hasOwn(values, key) ? undefined : plainValue(word!);
    if (value === undefined) return undefined;
    values[key!] = value;
  }
  return values;
}

const WORDS: Readonly<Record<string, unknown>> = { null: null, true: true, false: false };

/** Values that YAML and JSON read alike; undefined for all others. */
function plainValue(word: string): unknown {
  if (Object.hasOwn(WORDS, word)) return WORDS[word];
  if (/^-?(0|[1-9]\d{0,14})(\.\d+)?(e[+-]?\d+)?$/.test(word)) return Number(word);
  if (/^"[\w ./:,-]*"$/.test(word)) return word.slice(1, -1);
  return /^[A-Za-z][\w./-]*$/.test(word) && !/^(null|true|false|yes|no|on|off|y|n)$/i.test(word) ? word : undefined;
}

function valuesIn(yaml: string, source: string): unknown {
  try {
    // The library compares each key with all others, so that is done here.
    const document = parseDocument(yaml, { logLevel: "error", uniqueKeys: false, prettyErrors: false });
    for (const { message, pos } of document.errors) throw new Error(`${message} at line ${lineOf(yaml, pos[0])}`);
    visit(document, { Map: (_, map) => refuseRepeated(map) });
    return document.toJS();
  } catch (error) {
    throw new LayerwiseError(`${source}: expected YAML settings, got ${messageOf(error)}`, 2, {
      code: "bad-file",
      cause: error,
    });
  }
}

const lineOf = (text: string, at: number) => text.slice(0, at).split("\n").length;

function refuseRepeated({ items }: YAMLMap): void {
  const seen = new Set<unknown>();
  for (const { key } of items) {
    const name = isScalar(key) ? key.value : key;
    if (seen.has(name)) throw new Error(`the key ${name} twice`);
    seen.add(name);
  }
}

/** The settings in a user's file, which may be the config.yaml of a run, also of an older version. */
export function parseSettings<S extends object, R extends object>(
  schema: SettingsSchema<S, R>,
  yaml: string,
  source: string,
): Partial<S> {
  const values = parseYaml(yaml, source);
  const { task, settings } = migrate({ ...values, task: values.task ?? schema.task });
  return schema.check({ ...settings, task: values.task === undefined ? schema.task : keptAs(task) }, source);
}

/** The settings of a run, out of its config.yaml: complete, with the defaults of its time for what it does not say. */
export function storedSettings<S extends object, R extends object>(
  schema: SettingsSchema<S, R>,
  yaml: string,
  source: string,
): R {
  const { task, settings } = migrateRun(parseYaml(yaml, source));
  return schema.resolve([{ source, values: schema.check({ ...settings, task: keptAs(task) }, source) }]);
}
