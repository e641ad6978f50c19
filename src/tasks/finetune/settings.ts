/** Settings of fine-tuning: an ALBERT with a new head, on labelled texts. */
import { reject } from "../../base/errors.ts";
import { LARGEST } from "../../base/limits.ts";
import type { HaltingOptions } from "../../depth/halting.ts";
import type { AlbertOptions } from "../../model/albert/albert.ts";
import type { AlbertDescription, HeadOptions } from "../../model/albert/description.ts";
import { choice, flag, group, optional, real, text, whole } from "../../runs/fields.ts";
import { defineSettings, type Resolved } from "../../runs/settings.ts";
import type { TextTask } from "../../text/labelled/text-task.ts";
import { dataFields, hardwareFields, histogramEvery } from "../fields.ts";
import { tunedDepth } from "./tuned-depth.ts";

const fields = {
  ...group("Data", {
    glue: optional(text("", "folder of GLUE's tasks; default: glue in the folder of datasets")),
    data: dataFields.data,
    length: whole(128, "longest text in tokens; longer ones are cut", 5, LARGEST.length),
    examples: optional(whole(1000, "learn from this many examples only; default: all")),
  }),
  ...group("Model", {
    pooling: choice(
      ["first", "mean", "distinct", "pairs"],
      "first",
      "what is classified: the pooled first token, the mean of real tokens, that of distinct pieces, so that each word counts once, or that and the mean vector of pairs of neighbours beside it (of a model pre-trained with --pairs)",
    ),
    headStart: choice(
      ["drawn", "fitted"],
      "drawn",
      "first weights of the head: drawn, or fitted to the texts by regularised regression before the model is trained",
    ),
    exitDepths: optional(
      choice(
        ["full", "drawn"],
        "drawn",
        "where tokens halt, train for prediction that stops at any depth: drawn for each text, or at full depth only; default: drawn with a fitted head, else full",
      ),
    ),
    classifierDropout: real(0.1, "fraction of the classified vector that is dropped in training", {
      from: 0,
      below: 1,
    }),
    dropout: optional(
      real(0, "fraction of activations that is dropped in training; default: as the model has it", {
        from: 0,
        below: 1,
      }),
    ),
    embeddingDeviation: optional(
      real(
        0.02,
        "with pre-trained weights: bring embedding tables to this deviation; small ones learn faster; default: as they are",
        { from: 1e-6 },
      ),
    ),
    resizeVocabulary: flag(
      "with another --tokenizer: keep the embeddings of pieces that both tokenizers have, draw the others",
    ),
    ponder: optional(real(0.001, "penalty on the depth of halting models; default: as the model has it")),
    lora: optional(
      whole(
        8,
        "train low-rank adapters of this rank and the head only, the model itself rests; default: all weights",
        1,
        LARGEST.width,
      ),
    ),
    loraAlpha: optional(
      real(16, "factor of the adapters, divided by their rank; default: twice the rank", { above: 0 }),
    ),
  }),
  ...group("Model from scratch", {
    tokenizer: optional(
      text("", "a SentencePiece model with [CLS] and [SEP], by name or file; default: the run's own"),
    ),
    like: optional(text("", "model and tokenizer as this run has them; the sizes below do not count then")),
    width: whole(128, "width of the hidden state", 1, LARGEST.width),
    heads: whole(4, "attention heads", 1, LARGEST.heads),
    embedding: whole(64, "width of the embedding tables", 1, LARGEST.width),
    feedForward: optional(
      whole(512, "width of the feed-forward layer; default: four times the width", 1, LARGEST.hidden),
    ),
    depth: whole(4, "depths, or the most of them with halting", 1, LARGEST.depth),
    halt: flag("every token halts by itself"),
    haltBias: real(0, "first bias of the halting unit", {}),
  }),
  ...group("Optimisation", {
    batch: whole(32, "texts per batch", 1, LARGEST.batch),
    optimiser: choice(["adamw", "lamb"], "adamw", "adamw or lamb"),
    rate: optional(
      real(
        0.0001,
        "highest learning rate; default: 0.0001 for adamw, 0.0005 for lamb, ten times that from scratch and for adapters",
      ),
    ),
    tableRate: real(1, "learning rate of the embedding tables, as a multiple of the others'; 0: they rest", {
      from: 0,
    }),
    warmup: real(0.1, "fraction of the updates over which the learning rate rises; then it falls to 0", {
      from: 0,
      below: 1,
    }),
    warmupSteps: optional(whole(200, "updates over which it rises, instead of a fraction of them", 0, LARGEST.steps)),
    weightDecay: real(0.01, "decay of matrices; biases and norms have none"),
    clipNorm: real(1, "largest gradient norm; larger gradients are scaled down"),
    seed: whole(1, "seed of new weights, data order and dropout", 0),
  }),
  ...group("Length", {
    epochs: whole(3, "passes over the examples; each is evaluated"),
    steps: optional(
      whole(1000, "updates in all, instead of epochs; each pass and the end are evaluated", 1, LARGEST.steps),
    ),
  }),
  ...group("Evaluation and checkpoints", {
    checkpointEvery: whole(200, "updates between checkpoints"),
    keep: whole(2, "checkpoints kept besides the best"),
    histogramEvery,
  }),
  ...hardwareFields,
};

/** The schema of fine-tuning's settings. */
export const finetuneSettings = defineSettings("finetune", fields, {
  command: "glue",
  presets: {
    /** A minute or so for a small model: some examples, once. */
    quick: { examples: 1000, epochs: 1, length: 64, checkpointEvery: 50 },
    /** The middle of the original's grid, for large pre-trained models. */
    original: { rate: 3e-5, batch: 32, epochs: 3 },
  },
});

/** Settings of fine-tuning as they are when a run begins. */
export type GlueSettings = Resolved<typeof finetuneSettings>;

const rates = { adamw: 1e-4, lamb: 5e-4 } as const;

/** The rate that was asked for, or one that served. */
export const rateOf = ({ rate, optimiser, lora }: GlueSettings, scratch: boolean) =>
  rate ?? rates[optimiser] * (scratch || lora !== null ? 10 : 1);

/** What a task guesses of a text. */
export const kindOf = ({ labels, several }: TextTask) => (several ? "multiple" : labels ? "single" : "regression");

/** The head that a task on labelled texts needs. */
export function headOf(task: TextTask, settings: GlueSettings): HeadOptions {
  const kind = kindOf(task);
  const { classifierDropout: dropout, pooling } = settings;
  return { classification: { labels: task.labels?.length ?? 1, kind, dropout, pooling } };
}

/** The model below a head: a known one, or a new one of the given vocabulary. */
export function describeTuned(
  heads: HeadOptions,
  settings: GlueSettings,
  from: AlbertDescription["model"] | { vocabulary: number },
): AlbertDescription {
  const known = "width" in from ? from : undefined;
  if (!known) refuseAdapters(settings);
  const model = known ? { ...known, ...loraOf(settings) } : { ...scratchModel(settings), ...from };
  const halting = model.halting && { ...model.halting, ...ponderOf(settings), ponderFrom: 0, ponderWarmup: 0 };
  const { depth } = model;
  const written = typeof depth === "string" ? { depth: tunedDepth(depth, settings.ponder) } : {};
  const dropout = settings.dropout === null ? {} : { dropout: settings.dropout, attentionDropout: settings.dropout };
  return { model: { ...model, ...dropout, ...written, halting }, heads };
}

function loraOf(settings: GlueSettings): Pick<AlbertOptions, "lora"> {
  const { lora: rank, loraAlpha: alpha, embeddingDeviation, resizeVocabulary } = settings;
  if (rank === null) return {};
  const changes = embeddingDeviation !== null ? "--embedding-deviation" : resizeVocabulary && "--resize-vocabulary";
  if (changes)
    reject({ who: "finetune / lora", needed: "weights that rest", got: `${changes}, which changes them` }, 2);
  return { lora: { rank, ...(alpha === null ? {} : { alpha }) } };
}

function refuseAdapters({ lora }: GlueSettings): void {
  if (lora === null) return;
  const needed = "a pre-trained model below the adapters";
  reject({ who: "finetune / lora", needed, got: "new weights", remedy: "name a run, or leave --lora out" }, 2);
}

const ponderOf = ({ ponder }: GlueSettings) => (ponder === null ? {} : { ponder });

function scratchModel(settings: GlueSettings) {
  const { width, heads, embedding, feedForward, depth, length, halt, haltBias } = settings;
  const halting: Omit<HaltingOptions, "width"> | undefined = halt ? { biasInitial: haltBias } : undefined;
  return { width, heads, embedding, hidden: feedForward ?? 4 * width, depth, length, halting };
}
