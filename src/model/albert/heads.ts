/** What ALBERT is used for: a head turns encoded texts into logits, and logits and targets into a loss. */
import { rejectOption, rejectShape } from "../../base/errors.ts";
import { checkOptions, dropoutRate, number, oneOf, type Rules, required, whole } from "../../base/options.ts";
import { scalarCourses, scalarInputs } from "../../depth/policy.ts";
import {
  abs,
  add,
  cast,
  concat,
  crossEntropy,
  type Dim,
  divide,
  equal,
  exp,
  gather,
  input,
  iota,
  log,
  maximum,
  mean,
  multiply,
  negate,
  reshape,
  slice,
  square,
  subtract,
  sum,
  type Tensor,
  within,
} from "../../graph/index.ts";
import { ALBERT_DEVIATION } from "../../nn/albert.ts";
import {
  activations,
  inference,
  LayerNorm,
  Linear,
  type Mode,
  newParameter,
  normal,
  PairTable,
  type Parameter,
  Training,
  zeros,
} from "../../nn/index.ts";
import type { Objective } from "../causal.ts";
import type { Albert, Encoded } from "./albert.ts";
import { counting, maskedCrossEntropy, placeLoss, weightedCrossEntropy } from "./losses.ts";

/** Tensors by name. */
export type Tensors = Readonly<Record<string, Tensor>>;

/** Sizes of a batch; a length that differs from batch to batch has a name. */
export interface BatchShape {
  batch: number;
  length: Dim;
  /** Masked places a text, where masked pieces are predicted; else as the head has it. */
  predictions?: number | undefined;
  /** Tokens see themselves and what stands before them only. Default: false. */
  causal?: boolean | undefined;
  /** Every text comes with the depth at which its tokens halt at the latest: `caps`, int [batch, 1]. Default: false. */
  capped?: boolean | undefined;
}

/** What a task puts on top of an encoder: its logits and its loss. */
export interface Head {
  readonly parameters: readonly Parameter[];
  /** What it predicts, by name. Targets that say where to look (masked positions) are given too. */
  logits(encoded: Encoded, targets: Tensors, mode: Mode): Tensors;
  /** The inputs its loss needs. */
  targets(shape: BatchShape): Tensors;
  loss(logits: Tensors, targets: Tensors): Tensor;
  /** How many words its loss is the mean over, where texts differ in that. */
  count?(targets: Tensors): Tensor;
}

const flat = (x: Tensor) => reshape(x, [x.shape.reduce<number>((n, dim) => n * Number(dim), 1)]);
const weight = normal(ALBERT_DEVIATION);
const role = "head";

/** Where masked words are predicted. */
export interface MaskedLanguageOptions {
  /** Masked places a text; absent: labels stand at every place, `IGNORED` where nothing is predicted. */
  predictions?: number;
}

/** Predicts masked pieces: C → E, activation, norm, and scores by the word table. */
export function maskedLanguageHead(model: Albert, options: MaskedLanguageOptions = {}): Head {
  checkOptions("masked language head", options, { predictions: whole(1) });
  const { predictions } = options;
  const { width, embedding, epsilon, activation, vocabulary } = model.options;
  const dense = new Linear("predictions.dense", { in: width, out: embedding, weight, role });
  const norm = new LayerNorm("predictions.LayerNorm", { width: embedding, epsilon });
  const bias = newParameter("predictions.bias", [vocabulary], zeros, "bias");
  const score = (rows: Tensor) => {
    const narrow = norm.apply(activations[activation](dense.apply(rows)));
    return add(model.embeddings.words.logits(narrow), bias.tensor);
  };
  return {
    parameters: [...dense.parameters, ...norm.parameters, bias],
    logits: ({ sequence, length }, { maskedPositions }) => ({
      words: within("predictions", () => score(maskedPositions ? picked(sequence, maskedPositions, length) : sequence)),
    }),
    targets: ({ batch, length, predictions: places = predictions }): Tensors =>
      places === undefined
        ? { labels: input("labels", [batch, length], "int") }
        : {
            maskedPositions: input("maskedPositions", [batch, places], "int"),
            maskedLabels: input("maskedLabels", [batch, places], "int"),
            maskedWeights: input("maskedWeights", [batch, places]),
          },
    loss: ({ words }, { labels, maskedLabels, maskedWeights }) =>
      labels
        ? maskedCrossEntropy(words!, flat(labels))
        : weightedCrossEntropy(words!, flat(maskedLabels!), flat(maskedWeights!), 1e-5),
    count: ({ labels, maskedWeights }) => (labels ? sum(counting(labels)) : sum(maskedWeights!)),
  };
}

/** Rows at positions [B, P] of each text: [B·T, C] → [B·P, C]. */
function picked(sequence: Tensor, positions: Tensor, length: Dim): Tensor {
  const [batch, count] = positions.shape as [number, number];
  if (typeof length !== "number") rejectShape({ who: "predictions", needed: "a known length", got: length });
  const firsts = reshape(multiply(iota(batch), length), [batch, 1]);
  return gather(sequence, reshape(add(positions, firsts), [batch * count]));
}

/** How the loss of sentence order is counted. */
export interface SentenceOrderOptions {
  /** Added to the count of texts: the original has 1e-5. Default: 0. */
  epsilon?: number;
}

/** Tells texts in order from swapped ones (class 1). */
export function sentenceOrderHead(model: Albert, options: SentenceOrderOptions = {}): Head {
  checkOptions("sentence order head", options, { epsilon: number({ from: 0 }) });
  const { epsilon = 0 } = options;
  const classifier = new Linear("sop_classifier.classifier", { in: model.options.width, out: 2, weight, role });
  return {
    parameters: classifier.parameters,
    logits: (encoded) => ({ order: classifier.apply(pooledOf(encoded)) }),
    targets: ({ batch }) => ({ order: input("order", [batch], "int") }),
    loss: ({ order: logits }, { order }) => {
      const each = crossEntropy(logits!, order!);
      return multiply(sum(each), 1 / (Number(each.shape[0]) + epsilon));
    },
  };
}

/** The pooled first token, [B, C]; a model without a pooler is refused. */
export function pooledOf({ pooled }: Encoded): Tensor {
  return pooled ?? rejectOption({ who: "head", needed: "a model with a pooler", got: "pooler: false" });
}

/** Mean of the states of real tokens: [B·T, C] → [B, C]. */
export function averaged({ sequence, real, batch, length }: Encoded): Tensor {
  const rows = reshape(sequence, [batch, length, sequence.shape[1]!]);
  if (!real) return mean(rows, { axes: [1] });
  const weights = cast(reshape(real, [batch, length, 1]), "float");
  return divide(sum(multiply(rows, weights), { axes: [1] }), sum(weights, { axes: [1] }));
}

/** Mean over the distinct pieces of each text, [B, C]: the states of a piece that stands n times in it count 1/n each. */
export function averagedDistinct({ sequence, real, ids, batch, length }: Encoded): Tensor {
  if (!ids) return refuseRows();
  const same = equal(reshape(ids, [batch, length, 1]), reshape(ids, [batch, 1, length])); // [B, T, T]
  const often = sum(cast(same, "float"), { axes: [2] });
  const shares = divide(real ? cast(reshape(real, [batch, length]), "float") : 1, often); // [B, T]
  const weights = reshape(shares, [batch, length, 1]);
  const rows = reshape(sequence, [batch, length, sequence.shape[1]!]);
  return divide(sum(multiply(rows, weights), { axes: [1] }), sum(weights, { axes: [1] }));
}

/** The mean over distinct pieces beside that of distinct pairs of neighbours, [B, C + E]. */
export function averagedPairs(encoded: Encoded, { embeddings: { pairs }, options: { vocabulary } }: Albert): Tensor {
  const table = new PairTable(pairs ?? refusePairs(), vocabulary);
  return concat([averagedDistinct(encoded), table.mean(encoded.ids ?? refuseRows(), encoded.real)], 1);
}

const refuseRows = () => rejectOption({ who: "head / pooling", needed: "the pieces of the texts", got: "rows alone" });

function refusePairs(): never {
  const remedy = "pre-train one with --pairs, or pool distinct pieces";
  return rejectOption({ who: "pooling pairs", needed: "a model with a table of pairs", got: "one without", remedy });
}

/** What every head that classifies takes. */
export interface ClassifierOptions {
  /** Of the states that are classified, while training. Default: 0.1. */
  dropout?: number;
}

const DROPOUT = 0.1;

const classifierOf = (model: Albert, out: number, beside = 0) =>
  new Linear("classifier", { in: model.options.width + beside, out, weight, role });

/** Classes or numbers for a whole text. */
export interface ClassificationOptions extends ClassifierOptions {
  /** Number of classes; of numbers for regression. */
  labels: number;
  /** One class a text, any number of them, or real numbers. */
  kind?: "single" | "multiple" | "regression";
  /** The pooled first token, the mean of all tokens, or that of distinct pieces, each of which counts once; `pairs`: with the mean of distinct pairs beside it. */
  pooling?: keyof typeof pooling;
}

const classificationRules: Rules<ClassificationOptions> = {
  labels: required(whole(1)),
  kind: oneOf(["single", "multiple", "regression"]),
  dropout: dropoutRate,
  pooling: oneOf(["first", "mean", "distinct", "pairs"]),
};

/** −log σ(x) where y = 1, −log σ(−x) where y = 0, without overflow: max(x, 0) − x·y + log(1 + e^−|x|). */
function binaryCrossEntropy(x: Tensor, y: Tensor): Tensor {
  const slope = log(add(exp(negate(abs(x))), 1));
  return mean(add(subtract(maximum(x, 0), multiply(x, y)), slope));
}

const classLosses = {
  single: (logits: Tensor, labels: Tensor) => mean(crossEntropy(logits, labels)),
  multiple: binaryCrossEntropy,
  regression: (logits: Tensor, labels: Tensor) => mean(square(subtract(logits, labels))),
} as const;

/** What is classified, [B, C], under the names of `pooling`. */
export const pooling = { first: pooledOf, mean: averaged, distinct: averagedDistinct, pairs: averagedPairs } as const;

/** Classes (or numbers) of whole texts. */
export function classificationHead(model: Albert, options: ClassificationOptions): Head {
  checkOptions("classification head", options, classificationRules);
  const { labels, kind = "single", dropout = DROPOUT, pooling: how = "first" } = options;
  const paired = how === "pairs";
  if (paired && !model.embeddings.pairs) refusePairs();
  const classifier = classifierOf(model, labels, paired ? model.options.embedding : 0);
  const vector = pooling[how];
  return {
    parameters: classifier.parameters,
    logits: (encoded, _, mode) => ({ classes: classifier.apply(mode.dropout(vector(encoded, model), dropout)) }),
    targets: ({ batch }) => ({
      labels: kind === "single" ? input("labels", [batch], "int") : input("labels", [batch, labels]),
    }),
    loss: ({ classes }, targets) => classLosses[kind](classes!, targets.labels!),
  };
}

/** Classes for each token. */
export interface TokenClassificationOptions extends ClassifierOptions {
  /** Number of classes. */
  labels: number;
}

/** A class for every token; `IGNORED` where it does not count. */
export function tokenClassificationHead(model: Albert, options: TokenClassificationOptions): Head {
  checkOptions("token classification head", options, { labels: required(whole(1)), dropout: dropoutRate });
  const { labels, dropout = DROPOUT } = options;
  const classifier = classifierOf(model, labels);
  return {
    parameters: classifier.parameters,
    logits: ({ sequence }, _, mode) => ({ tokens: classifier.apply(mode.dropout(sequence, dropout)) }),
    targets: ({ batch, length }) => ({ labels: input("labels", [batch, length], "int") }),
    loss: ({ tokens }, targets) => maskedCrossEntropy(tokens!, flat(targets.labels!)),
    count: ({ labels }) => sum(counting(labels!)),
  };
}

/** Where an answer begins and ends: scores of every token for both. A place beyond the text does not count. */
export function questionAnsweringHead(model: Albert): Head {
  const outputs = new Linear("qa_outputs", { in: model.options.width, out: 2, weight, role });
  return {
    parameters: outputs.parameters,
    logits: ({ sequence, batch, length }) => {
      const scores = outputs.apply(sequence);
      const side = (i: number) => reshape(slice(scores, 1, i, i + 1), [batch, length]);
      return { starts: side(0), ends: side(1) };
    },
    targets: ({ batch }) => ({ starts: input("starts", [batch], "int"), ends: input("ends", [batch], "int") }),
    loss: (logits, { starts, ends }) =>
      multiply(add(placeLoss(logits.starts!, starts!), placeLoss(logits.ends!, ends!)), 0.5),
  };
}

/** Texts of which one is right. */
export interface MultipleChoiceOptions extends ClassifierOptions {
  /** Texts per question. */
  choices: number;
}

/** Which of several texts fits: the batch holds the choices of one question after another. */
export function multipleChoiceHead(model: Albert, options: MultipleChoiceOptions): Head {
  checkOptions("multiple choice head", options, { choices: required(whole(1)), dropout: dropoutRate });
  const { choices, dropout = DROPOUT } = options;
  const classifier = classifierOf(model, 1);
  return {
    parameters: classifier.parameters,
    logits: (encoded, _, mode) => {
      const scores = classifier.apply(mode.dropout(pooledOf(encoded), dropout));
      return { choices: reshape(scores, [Number(encoded.batch) / choices, choices]) };
    },
    targets: ({ batch }) => ({ labels: input("labels", [batch / choices], "int") }),
    loss: ({ choices: scores }, { labels }) => mean(crossEntropy(scores!, labels!)),
  };
}

/** A loss with its inputs and noise, ready to be trained. */
export interface AlbertObjective extends Objective {
  readonly encoded: Encoded;
  /** What the heads predict, and what each of their losses is. */
  readonly logits: Tensors;
  readonly losses: readonly Tensor[];
}

/** The inputs of texts: ids, mask (1 for tokens, 0 for padding) and types (segments), int [batch, length] each. */
export function textInputs({ batch, length }: { batch: Dim; length: Dim }): Record<"ids" | "mask" | "types", Tensor> {
  const one = (name: string) => input(name, [batch, length], "int");
  return { ids: one("ids"), mask: one("mask"), types: one("types") };
}

/** A cap for each text, where they have one. */
const capsInput = ({ batch, capped = false }: BatchShape): { caps?: Tensor } =>
  capped ? { caps: input("caps", [batch, 1], "int") } : {};

/** A penalty on depth is a mean over real tokens where it was not asked for by text. */
function penaltyTerm({ penalty, penaltyCount }: Encoded): { loss: Tensor; count: Tensor }[] {
  return penalty && penaltyCount ? [{ loss: penalty, count: penaltyCount }] : [];
}

/** The sum of the heads' losses and of the depth policy's penalty. */
export function albertObjective(
  model: Albert,
  heads: readonly Head[],
  { training, ...shape }: BatchShape & { training: boolean },
): AlbertObjective {
  const mode = training ? new Training() : inference;
  const texts = textInputs(shape);
  const given = capsInput(shape);
  const caps = given.caps && add(multiply(texts.ids, 0), given.caps); // [B, T]
  const encoded = model.encode({ ...texts, caps, causal: shape.causal }, mode);
  const targets = Object.assign({}, ...heads.map((head) => head.targets(shape))) as Tensors;
  const found = heads.map((head) => head.logits(encoded, targets, mode));
  const losses = heads.map((head, i) => head.loss(found[i]!, targets));
  const all = encoded.penalty ? [...losses, encoded.penalty] : losses;
  const uneven = heads.flatMap(({ count }, i) => (count ? [{ loss: losses[i]!, count: count(targets) }] : []));
  return {
    loss: all.reduce((a, b) => add(a, b)),
    terms: [...uneven, ...penaltyTerm(encoded)],
    inputs: { ...texts, ...given, ...targets, ...scalarInputs(model.policy) },
    courses: scalarCourses(model.policy),
    noise: mode instanceof Training ? mode.noise : [],
    encoded,
    logits: Object.assign({}, ...found) as Tensors,
    losses,
  };
}
