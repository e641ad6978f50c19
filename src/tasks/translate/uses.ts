/** Runs of the translation task: they go on like others, and are used with `layerwise translate`. */
import { reject } from "../../base/errors.ts";
import type { RunKind } from "../kind.ts";
import { resumeTraining } from "../resuming.ts";

export const translationRuns: RunKind = {
  open: async ({ path }) =>
    reject(
      { who: path, needed: "a language model", got: "task translate", remedy: "see layerwise translate --help" },
      2,
    ),
  resume: resumeTraining,
};
