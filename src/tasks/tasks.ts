/** The tasks by name: another costs one file and one line. */
import type { Config } from "./language/settings.ts";
import type { OpenTask } from "./language/trainable.ts";

export const tasks: Readonly<Record<Config["task"], OpenTask>> = {
  language: async (...given) => (await import("./language/task.ts")).openLanguage(...given),
  translate: async (...given) => (await import("./translate/task.ts")).openTranslate(...given),
};
