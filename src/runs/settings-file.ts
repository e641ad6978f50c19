/** Settings in YAML: a user's file, or the config.yaml of a run. Apart from the schema, since reading YAML takes a library that writing does not. */
import { parse } from "yaml";
import { LayerwiseError, messageOf, reject } from "../base/errors.ts";
import { migrate, migrateRun } from "./migration.ts";
import type { SettingsSchema, Values } from "./settings.ts";

/** The keys of a YAML text. */
export function parseYaml(yaml: string, source: string): Values {
  let values: unknown;
  try {
    values = parse(yaml);
  } catch (error) {
    throw new LayerwiseError(`${source}: not YAML: ${messageOf(error)}`, 2);
  }
  if (values === null || values === undefined) return {};
  if (typeof values !== "object" || Array.isArray(values))
    reject({ who: source, needed: "keys with values", got: typeof values }, 2);
  return values as Values;
}

/** A found network keeps all settings of its search. */
const keptAs = (task: string) => (task === "retrain" ? "search" : task);

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
