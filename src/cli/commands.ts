/** The commands by name, in the order of the help. Each file in commands/ adds one to a program, and is loaded when it is asked for. */
import type { CommandEntry } from "./command.ts";

/** What each command does, in a line. */
const about = {
  tour: "see share, search and adapt on the embedded books, in about three minutes",
  train: "train a model into a run folder",
  resume: "go on with a run from its last checkpoint",
  pretrain: "pre-train an ALBERT with adaptive depth on masked words and sentence order",
  depth: "show how deep the tokens of an ALBERT or a language model run, by kind, tag or surprise",
  eval: "measure a run: loss, perplexity per piece and per word, bits per byte",
  generate: "continue a text with a trained model",
  export: "write an inference ONNX (shared weights once) and safetensors with their config",
  import: "make a run of ALBERT or ALBERT-ACT weights: .safetensors, PyTorch .bin, or a folder of .npy files",
  glue: "fine-tune an ALBERT on a task of GLUE",
  finetune: "fine-tune an ALBERT on labelled texts of your own",
  predict: "say labels, scores and depths of texts with a fine-tuned run",
  fill: "guess the [MASK]s of a text with an ALBERT",
  embed: "write vectors of texts by an ALBERT, as safetensors or JSON lines",
  studio: "watch, compare, use and start runs on a page in the browser",
  runs: "list runs, show one, compare several",
  translate: "translate lines of text with a trained run, or score it with BLEU",
  plan: "show which layer runs at each depth, its parameters and its FLOPs",
  compare: "train shared and unshared models side by side: parameters, depth, FLOPs, speed, quality",
  reproduce: "run a paper's experiment again at laptop size, with its table and ours side by side in a report",
  sweep: "try settings: many runs over values and seeds as one folder, with a table of what came of them",
  trial: "run one trial of a sweep: begin it, go on with it, or do nothing where it has ended",
  worker: "take trials of sweeps from a queue on Redis or Valkey, and run them on this machine",
  bench: "measure what the toolkit claims",
  certify: "rebuild golden cases and compare outputs, losses and gradients number for number",
  search: "search which blocks a Transformer-XL wants: attention, feed-forward or none, depth by depth",
  latency: "measure what the candidates of a search cost on this machine, for search --costs",
  retrain: "train the network that a search found, and compare it with the (sf)-baseline of as many blocks",
  cutoffs: "find the cheapest cutoffs of an adaptive softmax from word counts",
  data: "build batches from text, look into them, download datasets",
  tokenizer: "train SentencePiece vocabularies, encode and decode text, look into models",
  schema: "print the settings of a task as JSON Schema",
  completion: "print a script that completes command lines in bash, zsh or fish",
  doctor: "print versions, processor, threads, devices and matrix speed",
} as const;

/** The function that adds each command. */
const loaders: Readonly<Record<keyof typeof about, CommandEntry["load"]>> = {
  tour: async () => (await import("./commands/tour.ts")).addTour,
  train: async () => (await import("./commands/train.ts")).addTrain,
  resume: async () => (await import("./commands/train.ts")).addResume,
  pretrain: async () => (await import("./commands/pretrain.ts")).addPretrain,
  depth: async () => (await import("./commands/depth.ts")).addDepth,
  eval: async () => (await import("./commands/eval.ts")).addEval,
  generate: async () => (await import("./commands/generate.ts")).addGenerate,
  export: async () => (await import("./commands/export.ts")).addExport,
  import: async () => (await import("./commands/import.ts")).addImport,
  glue: async () => (await import("./commands/glue.ts")).addGlue,
  finetune: async () => (await import("./commands/finetune.ts")).addFinetune,
  predict: async () => (await import("./commands/predict.ts")).addPredict,
  fill: async () => (await import("./commands/fill.ts")).addFill,
  embed: async () => (await import("./commands/embed.ts")).addEmbed,
  studio: async () => (await import("./commands/studio.ts")).addStudio,
  runs: async () => (await import("./commands/runs.ts")).addRuns,
  translate: async () => (await import("./commands/translate.ts")).addTranslate,
  plan: async () => (await import("./commands/plan.ts")).addPlan,
  compare: async () => (await import("./commands/compare.ts")).addCompare,
  reproduce: async () => (await import("./commands/reproduce.ts")).addReproduce,
  sweep: async () => (await import("./commands/sweep.ts")).addSweep,
  trial: async () => (await import("./commands/sweep.ts")).addTrial,
  worker: async () => (await import("./commands/worker.ts")).addWorker,
  bench: async () => (await import("./commands/bench.ts")).addBench,
  certify: async () => (await import("./commands/certify.ts")).addCertify,
  search: async () => (await import("./commands/search.ts")).addSearch,
  latency: async () => (await import("./commands/latency.ts")).addLatency,
  retrain: async () => (await import("./commands/retrain.ts")).addRetrain,
  cutoffs: async () => (await import("./commands/cutoffs.ts")).addCutoffs,
  data: async () => (await import("./commands/data.ts")).addData,
  tokenizer: async () => (await import("./commands/tokenizer.ts")).addTokenizer,
  schema: async () => (await import("./commands/schema.ts")).addSchema,
  completion: async () => {
    const { addCompletion } = await import("./commands/completion.ts");
    return (program) => addCompletion(program, commands);
  },
  doctor: async () => (await import("./commands/doctor.ts")).addDoctor,
};

/** Every command. */
export const commands: Readonly<Record<string, CommandEntry>> = Object.fromEntries(
  Object.entries(about).map(([name, text]) => [name, { about: text, load: loaders[name as keyof typeof about] }]),
);
