/** What to do next with a run, as words of the command line. */
import type { RunKind } from "./run.ts";

const words: Readonly<Record<string, readonly string[]>> = {
  language: ["generate RUN --prompt 'it was'", "eval RUN --split test"],
  translate: ["translate RUN < sentences.txt", "translate RUN --score test"],
  pretrain: ["depth RUN", "finetune RUN --train train.tsv --dev dev.tsv"],
  imported: ["depth RUN", "finetune RUN --train train.tsv --dev dev.tsv"],
  finetune: ["eval RUN", "predict RUN --text 'a lovely film'"],
  head: ["eval RUN"],
  search: ["retrain RUN"],
  seeds: ["retrain RUN"],
  retrain: ["generate RUN --prompt 'it was'", "eval RUN --split test"],
} satisfies Partial<Record<RunKind, readonly string[]>>;

/** Command lines without the program's name, with RUN in the place of the run's folder. */
export const nextWords = (kind: RunKind | (string & {}) | null): readonly string[] => [
  ...(words[kind ?? ""] ?? []),
  "runs show RUN",
];
