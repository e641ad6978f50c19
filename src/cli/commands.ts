/** The commands by name, in the order of the help. Each file in commands/ adds one to a program, and is loaded when it is asked for. */
import type { Command } from "commander";

export type AddCommand = (program: Command) => void;

export const commands: Readonly<Record<string, () => Promise<AddCommand>>> = {
  train: async () => (await import("./commands/train.ts")).addTrain,
  resume: async () => (await import("./commands/train.ts")).addResume,
  pretrain: async () => (await import("./commands/pretrain.ts")).addPretrain,
  depth: async () => (await import("./commands/depth.ts")).addDepth,
  eval: async () => (await import("./commands/eval.ts")).addEval,
  generate: async () => (await import("./commands/generate.ts")).addGenerate,
  export: async () => (await import("./commands/export.ts")).addExport,
  import: async () => (await import("./commands/import.ts")).addImport,
  glue: async () => (await import("./commands/glue.ts")).addGlue,
  runs: async () => (await import("./commands/runs.ts")).addRuns,
  translate: async () => (await import("./commands/translate.ts")).addTranslate,
  plan: async () => (await import("./commands/plan.ts")).addPlan,
  compare: async () => (await import("./commands/compare.ts")).addCompare,
  bench: async () => (await import("./commands/bench.ts")).addBench,
  certify: async () => (await import("./commands/certify.ts")).addCertify,
  search: async () => (await import("./commands/search.ts")).addSearch,
  retrain: async () => (await import("./commands/retrain.ts")).addRetrain,
  cutoffs: async () => (await import("./commands/cutoffs.ts")).addCutoffs,
  data: async () => (await import("./commands/data.ts")).addData,
  tokenizer: async () => (await import("./commands/tokenizer.ts")).addTokenizer,
  schema: async () => (await import("./commands/schema.ts")).addSchema,
  doctor: async () => (await import("./commands/doctor.ts")).addDoctor,
};
