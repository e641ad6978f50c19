/** The settings of a run of `layerwise train`, out of its config.yaml. */
import { reject } from "../base/errors.ts";
import { migrateRun } from "../runs/migration.ts";
import { parseYaml } from "../runs/settings-file.ts";
import { type Config, resolveConfig } from "./language/settings.ts";

/** Settings of a language model or of translation, as they were when the run began. */
export function storedConfig(yaml: string, source: string): Config {
  const { task, settings } = migrateRun(parseYaml(yaml, source));
  if (task === "language" || task === "translate") return resolveConfig([{ source, values: { ...settings, task } }]);
  const remedy = "go on with `layerwise resume`";
  return reject({ who: source, needed: "a run of layerwise train", got: `task ${task}`, remedy }, 2);
}
