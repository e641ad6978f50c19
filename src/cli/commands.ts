/** The commands by name, in the order of the help. Each file in commands/ adds one to a program, and is loaded when it is asked for. */
import type { Command } from "commander";

/** Adds a command to a program. */
export type AddCommand = (program: Command) => void;

/** A command: what it does, in a line, and the function that adds it. */
export interface CommandEntry {
  readonly about: string;
  readonly load: () => Promise<AddCommand>;
}

/** Every command. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  tour: {
    about: "see share, search and adapt on the embedded books, in about three minutes",
    load: async () => (await import("./commands/tour.ts")).addTour,
  },
  train: {
    about: "train a model into a run folder",
    load: async () => (await import("./commands/train.ts")).addTrain,
  },
  resume: {
    about: "go on with a run from its last checkpoint",
    load: async () => (await import("./commands/train.ts")).addResume,
  },
  pretrain: {
    about: "pre-train an ALBERT with adaptive depth on masked words and sentence order",
    load: async () => (await import("./commands/pretrain.ts")).addPretrain,
  },
  depth: {
    about: "show how deep the tokens of an ALBERT or a language model run, by kind, tag or surprise",
    load: async () => (await import("./commands/depth.ts")).addDepth,
  },
  eval: {
    about: "measure a run: loss, perplexity per piece and per word, bits per byte",
    load: async () => (await import("./commands/eval.ts")).addEval,
  },
  generate: {
    about: "continue a text with a trained model",
    load: async () => (await import("./commands/generate.ts")).addGenerate,
  },
  export: {
    about: "write an inference ONNX (shared weights once) and safetensors with their config",
    load: async () => (await import("./commands/export.ts")).addExport,
  },
  import: {
    about: "make a run of ALBERT or ALBERT-ACT weights: .safetensors, PyTorch .bin, or a folder of .npy files",
    load: async () => (await import("./commands/import.ts")).addImport,
  },
  glue: {
    about: "fine-tune an ALBERT on a task of GLUE",
    load: async () => (await import("./commands/glue.ts")).addGlue,
  },
  finetune: {
    about: "fine-tune an ALBERT on labelled texts of your own",
    load: async () => (await import("./commands/finetune.ts")).addFinetune,
  },
  predict: {
    about: "say labels, scores and depths of texts with a fine-tuned run",
    load: async () => (await import("./commands/predict.ts")).addPredict,
  },
  fill: {
    about: "guess the [MASK]s of a text with an ALBERT",
    load: async () => (await import("./commands/fill.ts")).addFill,
  },
  embed: {
    about: "write vectors of texts by an ALBERT, as safetensors or JSON lines",
    load: async () => (await import("./commands/embed.ts")).addEmbed,
  },
  studio: {
    about: "watch, compare, use and start runs on a page in the browser",
    load: async () => (await import("./commands/studio.ts")).addStudio,
  },
  runs: {
    about: "list runs, show one, compare several",
    load: async () => (await import("./commands/runs.ts")).addRuns,
  },
  translate: {
    about: "translate lines of text with a trained run, or score it with BLEU",
    load: async () => (await import("./commands/translate.ts")).addTranslate,
  },
  plan: {
    about: "show which layer runs at each depth, its parameters and its FLOPs",
    load: async () => (await import("./commands/plan.ts")).addPlan,
  },
  compare: {
    about: "train shared and unshared models side by side: parameters, depth, FLOPs, speed, quality",
    load: async () => (await import("./commands/compare.ts")).addCompare,
  },
  sweep: {
    about: "try settings: many runs over values and seeds as one folder, with a table of what came of them",
    load: async () => (await import("./commands/sweep.ts")).addSweep,
  },
  trial: {
    about: "run one trial of a sweep: begin it, go on with it, or do nothing where it has ended",
    load: async () => (await import("./commands/sweep.ts")).addTrial,
  },
  worker: {
    about: "take trials of sweeps from a queue on Redis or Valkey, and run them on this machine",
    load: async () => (await import("./commands/worker.ts")).addWorker,
  },
  bench: {
    about: "measure what the toolkit claims",
    load: async () => (await import("./commands/bench.ts")).addBench,
  },
  certify: {
    about: "rebuild golden cases and compare outputs, losses and gradients number for number",
    load: async () => (await import("./commands/certify.ts")).addCertify,
  },
  search: {
    about: "search which blocks a Transformer-XL wants: attention, feed-forward or none, depth by depth",
    load: async () => (await import("./commands/search.ts")).addSearch,
  },
  latency: {
    about: "measure what the candidates of a search cost on this machine, for search --costs",
    load: async () => (await import("./commands/latency.ts")).addLatency,
  },
  retrain: {
    about: "train the network that a search found, and compare it with the (sf)-baseline of as many blocks",
    load: async () => (await import("./commands/retrain.ts")).addRetrain,
  },
  cutoffs: {
    about: "find the cheapest cutoffs of an adaptive softmax from word counts",
    load: async () => (await import("./commands/cutoffs.ts")).addCutoffs,
  },
  data: {
    about: "build batches from text, look into them, download datasets",
    load: async () => (await import("./commands/data.ts")).addData,
  },
  tokenizer: {
    about: "train SentencePiece vocabularies, encode and decode text, look into models",
    load: async () => (await import("./commands/tokenizer.ts")).addTokenizer,
  },
  schema: {
    about: "print the settings of a task as JSON Schema",
    load: async () => (await import("./commands/schema.ts")).addSchema,
  },
  completion: {
    about: "print a script that completes command lines in bash, zsh or fish",
    load: async () => {
      const { addCompletion } = await import("./commands/completion.ts");
      return (program) => addCompletion(program, commands);
    },
  },
  doctor: {
    about: "print versions, processor, threads, devices and matrix speed",
    load: async () => (await import("./commands/doctor.ts")).addDoctor,
  },
};
