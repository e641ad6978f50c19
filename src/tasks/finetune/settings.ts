/** Settings of fine-tuning on GLUE: one literal of defaults with a word on each. */
import type { HaltingOptions } from "../../depth/halting.ts";
import type { AlbertDescription } from "../../model/albert/description.ts";
import { choice, flag, open, real, Schema, type SettingsOf, text, whole } from "../../runs/settings.ts";
import type { TextTask } from "../../text/labelled/text-task.ts";

const fields = {
  // Data
  glue: open(text("", "folder of GLUE's tasks; open: glue in the folder of datasets")),
  data: open(text("", "folder of datasets and tokenizers; open: LAYERWISE_DATA, or one in the cache")),
  length: whole(128, "longest text in pieces; longer ones are cut", 5),
  examples: open(whole(1000, "learn from so many examples only; open: all")),

  // Model
  pooling: choice(["first", "mean"], "first", "what is classified: the pooled first token, or the mean of real tokens"),
  classifierDropout: real(0.1, "part of the classified vector that is dropped in training", 0, 1),
  dropout: open(real(0, "part of activations that is dropped in training; open: as the model has it", 0, 1)),
  embeddingDeviation: open(
    real(
      0.02,
      "with --from: bring embedding tables to this deviation; small ones learn faster; open: as they are",
      1e-6,
    ),
  ),
  ponder: open(real(0.001, "penalty on the depth of halting models; open: as the model has it")),

  // Model from scratch
  tokenizer: open(text("", "a SentencePiece model with [CLS] and [SEP], by name or file; open: the run's own")),
  like: open(text("", "from scratch: model and tokenizer as this run has them; the sizes below do not count then")),
  width: whole(128, "from scratch: width of the hidden state"),
  heads: whole(4, "from scratch: attention heads"),
  embedding: whole(64, "from scratch: width of the embedding tables"),
  hidden: open(whole(512, "from scratch: width of the feed-forward layer; open: four times the width")),
  depth: whole(4, "from scratch: depths, or the most of them with --halt"),
  halt: flag("from scratch: every token halts by itself"),
  haltBias: real(0, "from scratch: first bias of the halting unit", -Infinity),

  // Optimisation
  batch: whole(32, "texts of a batch"),
  epochs: whole(3, "passes over the examples; each is evaluated"),
  optimiser: choice(["adamw", "lamb"], "adamw", "adamw or lamb"),
  rate: open(
    real(0.0001, "highest learning rate; open: 0.0001 for adamw, 0.0005 for lamb, ten times that from scratch"),
  ),
  warmup: real(0.1, "part of the updates over which the learning rate rises; then it falls to 0", 0, 1),
  weightDecay: real(0.01, "decay of matrices; biases and norms have none"),
  clipNorm: real(1, "longest gradient; longer ones are scaled down"),
  seed: whole(1, "seed of new weights, data order and dropout", 0),
  checkpointEvery: whole(200, "store the state every so many updates"),
  keep: whole(2, "checkpoints kept besides the best"),
  threads: open(whole(2, "threads of ONNX Runtime; open: physical cores")),
  device: choice(["cpu", "cuda", "webgpu", "dml"], "cpu", "where programs run"),
} as const;

export const glueSchema = new Schema(fields, "glue");

export type GlueSettings = SettingsOf<typeof fields>;

const rates = { adamw: 1e-4, lamb: 5e-4 } as const;

/** The rate that was asked for, or one that served. */
export const rateOf = ({ rate, optimiser }: GlueSettings, scratch: boolean) =>
  rate ?? rates[optimiser] * (scratch ? 10 : 1);

/** The model of a task: a known one with a new head, or a new one of the given vocabulary. */
export function describeGlue(
  task: TextTask,
  settings: GlueSettings,
  from: AlbertDescription["model"] | { vocabulary: number },
): AlbertDescription {
  const known = "width" in from ? from : undefined;
  const model = known ?? { ...scratchModel(settings), ...from };
  const halting = model.halting && { ...model.halting, ...ponderOf(settings), ponderFrom: 0, ponderWarmup: 0 };
  const dropout = settings.dropout === null ? {} : { dropout: settings.dropout, attentionDropout: settings.dropout };
  const head = {
    labels: task.labels?.length ?? 1,
    kind: task.labels ? "single" : "regression",
    dropout: settings.classifierDropout,
    pooling: settings.pooling,
  } as const;
  return { model: { ...model, ...dropout, halting }, heads: { classification: head } };
}

const ponderOf = ({ ponder }: GlueSettings) => (ponder === null ? {} : { ponder });

function scratchModel(settings: GlueSettings) {
  const { width, heads, embedding, hidden, depth, length, halt, haltBias } = settings;
  const halting: Omit<HaltingOptions, "width"> | undefined = halt ? { biasInitial: haltBias } : undefined;
  return { width, heads, embedding, hidden: hidden ?? 4 * width, depth, length, halting };
}
