/** The tasks by name: another costs one file and one line. */
import type { Config } from "../config.ts";
import type { OpenTask } from "./task.ts";

export const tasks: Readonly<Record<Config["task"], OpenTask>> = {
  language: async (...given) => (await import("./language.ts")).openLanguage(...given),
  translate: async (...given) => (await import("./translate.ts")).openTranslate(...given),
};
