/** `layerwise/tasks/settings`: the settings of every task, loaded when they are asked for. For Node. */
import { reject } from "../../base/errors.ts";
import { nearest } from "../../base/nearest.ts";
import type { SettingsSchema } from "../../runs/settings.ts";

/** How rules of exits and patterns of blocks are written, for flags and help texts. */
export { parseExitRule } from "../../depth/exit-rule.ts";
export { patternHelp } from "../../depth/pattern.ts";
export { flagOf } from "../../runs/names.ts";
export { type SettingsSources, schemaFor, settingsLayers, wordsAsSettings } from "./layers.ts";
export { remarksOn, type SettingUse } from "./remarks.ts";

/** The schema of each task's settings; another task costs one line. */
export const taskSettings = {
  language: async () => (await import("../language/settings.ts")).languageSettings,
  translate: async () => (await import("../translate/settings.ts")).translateSettings,
  search: async () => (await import("../search/settings.ts")).searchSettings,
  retrain: async () => (await import("../search/settings.ts")).retrainSettings,
  pretrain: async () => (await import("../pretrain/settings.ts")).pretrainSettings,
  finetune: async () => (await import("../finetune/settings.ts")).finetuneSettings,
} as const satisfies Record<string, () => Promise<SettingsSchema>>;

/** A task that has settings. */
export type TaskName = keyof typeof taskSettings;
/** The names of the tasks. */
export const taskNames = Object.keys(taskSettings) as TaskName[];

/** The schema of a task's settings, by the task's name. */
export async function settingsNamed(task: string): Promise<SettingsSchema> {
  if (Object.hasOwn(taskSettings, task)) return taskSettings[task as TaskName]();
  const guess = nearest(task, taskNames);
  const remedy = guess ? `did you mean ${guess}?` : "see layerwise schema";
  return reject({ who: "schema", needed: `a task of ${taskNames.join(", ")}`, got: task, remedy }, 2);
}
