/** Evaluation on masked text: words and orders guessed, each part of the loss, and how deep each kind of token runs. */
import { reject } from "../../base/errors.ts";
import { DepthTally } from "../../depth/tally.ts";
import { type Engine, feedsFor, ownWeights } from "../../engine/engine.ts";
import { argMax, crossEntropy, reshape, simplifyNamed, type Tensor } from "../../graph/index.ts";
import type { DescribedAlbert } from "../../model/albert/description.ts";
import { documentWords } from "../../model/albert/document-words.ts";
import { albertObjective, type Head } from "../../model/albert/heads.ts";
import type { MaskedBatches } from "../../text/masked/batches.ts";
import { pretrainingFeeds } from "../../text/masked/batches.ts";
import type { SpecialIds } from "../../text/masked/documents.ts";
import type { PretrainingBatch } from "../../text/masked/examples.ts";
import { eachToken, TOKEN_KINDS } from "../../text/masked/token-kinds.ts";
import type { Measured } from "../../train/events.ts";
import type { Weights } from "../../train/stages.ts";
import type { EvaluateOptions } from "../evaluate.ts";
import type { Phase, PhaseTask } from "./phases.ts";

type Described = Pick<DescribedAlbert, "model" | "heads">;
type Shape = Pick<Phase, "batch" | "length" | "predictions"> & Partial<Pick<Phase, "task">>;

/** The heads that are asked in a phase: only masked texts have an order of sentences to guess. */
export function headsOf(
  { task = "masked" }: { readonly task?: PhaseTask | undefined },
  { maskedLanguage, sentenceOrder }: Described["heads"],
): Head[] {
  return [maskedLanguage, task === "next" ? undefined : sentenceOrder].filter((head) => head !== undefined);
}

/** What the heads that a model has for masked text say, and how deep its tokens run. */
function outputsOf(described: Described, { task, ...shape }: Shape): Record<string, Tensor> {
  const { model } = described;
  if (task === "document") return { documentLoss: documentWords(model, shape.batch).losses };
  const heads = headsOf({ task }, described.heads);
  if (heads.length === 0) {
    const remedy = "published ALBERT-ACT files have no heads; look at depths with `layerwise depth`";
    reject({ who: "ALBERT", needed: "a head for masked pieces or the order of sentences", got: "none", remedy }, 2);
  }
  const { logits, inputs, encoded } = albertObjective(model, heads, {
    ...shape,
    causal: task === "next",
    training: false,
  });
  const { words, order } = logits;
  const { updates, remainders } = encoded.probes;
  const labels = () => reshape(inputs.maskedLabels!, [words!.shape[0]!]);
  return {
    ...(words ? { wordLoss: crossEntropy(words, labels()), wordGuess: argMax(words) } : {}),
    ...(order ? { orderLoss: crossEntropy(order, inputs.order!), orderGuess: argMax(order) } : {}),
    ...(updates ? { depths: updates } : {}),
    ...(remainders ? { remainders } : {}),
  };
}

/** Texts to evaluate on. */
export interface EvaluationTexts {
  readonly batches: MaskedBatches;
  readonly special: SpecialIds;
  /** How many at most. */
  readonly texts: number;
  /** The weights of all evaluations, where they do not change. */
  readonly weights?: Weights | undefined;
}

/** The same texts under weights that change: the first `texts` of the batches, or all there are. */
export async function pretrainingEvaluator(
  engine: Engine,
  described: Described,
  shape: Shape,
  { batches, special, texts, weights: known }: EvaluationTexts,
) {
  const { options, policy } = described.model;
  const { halting } = options;
  const outputs = simplifyNamed(outputsOf(described, shape));
  const program = await engine.compile({ outputs, ...(known && ownWeights(engine, known)) });
  const count = Math.min(batches.count, Math.max(1, Math.round(texts / batches.rows)));
  const taken = Array.from({ length: count }, (_, i) => batches.at(i));
  const measure = async (
    weights: Weights,
    { onBatch, signal }: Omit<EvaluateOptions, "split" | "evaluateTokens"> = {},
  ) => {
    const fixed = Object.fromEntries([...weights].map(([{ attributes }, data]) => [attributes.name, data]));
    const sums = new Sums(policy.depth);
    for (const [i, batch] of taken.entries()) {
      signal?.throwIfAborted();
      onBatch?.(i, count);
      sums.add(batch, await program.run(feedsFor(program, { ...fixed, ...pretrainingFeeds(batch) })), special);
    }
    if (shape.task === "document") return documentFigures(sums);
    return shape.task === "next" ? nextFigures(sums) : figuresOf(sums, halting);
  };
  const read = taken.reduce((total, { rows }) => total + rows, 0);
  return { texts: read, measure, release: () => program.release() };
}

/** What words of documents cost. They decide nothing, either. */
function documentFigures({ documents }: Sums): Measured {
  const { loss } = documents.mean!;
  return { loss, tokens: documents.count, scalars: { document_loss: loss } };
}

/** What next words cost. They decide nothing: masked words come after them. */
function nextFigures(sums: Sums): Measured {
  const { loss, accuracy } = sums.words.mean!;
  return {
    loss,
    perplexity: Math.exp(loss),
    tokens: sums.words.count,
    scalars: {
      next_loss: loss,
      next_accuracy: accuracy,
      ...(sums.decided ? { "depth/all": sums.depths.rows(TOKEN_KINDS)[0]!.mean } : {}),
    },
  };
}

function figuresOf(sums: Sums, halting: DescribedAlbert["model"]["options"]["halting"]): Measured {
  const [words, order] = [sums.words.mean, sums.order.mean];
  return {
    loss: (words?.loss ?? 0) + (order?.loss ?? 0),
    perplexity: Math.exp(words?.loss ?? order!.loss),
    tokens: sums.words.count,
    scalars: {
      ...(words ? { mlm_loss: words.loss, mlm_accuracy: words.accuracy } : {}),
      ...(order ? { sop_loss: order.loss, sop_accuracy: order.accuracy } : {}),
      ...(halting ? ponderFigures(sums, halting) : {}),
      ...(sums.decided ? depthFigures(sums) : {}),
    },
    // Where lines have no order of their own, that of sentences is learnt by heart, and its loss would speak for the earliest weights.
    ...(words ? { decisive: "mlm_accuracy" } : {}),
  };
}

/** The mean token's cost N + R, and the penalty as the loss has it in full. */
function ponderFigures(
  { ponder, tokens, texts }: Sums,
  halting: { ponder: number; ponderReduce: "mean" | "sum" },
): Record<string, number> {
  return {
    ponder_cost: ponder / tokens,
    ponder_loss: (halting.ponder * ponder) / (halting.ponderReduce === "mean" ? tokens : texts),
  };
}

/** Mean depths by kind of token. */
function depthFigures({ depths }: Sums): Record<string, number> {
  const rows = depths.rows(TOKEN_KINDS);
  return {
    ...Object.fromEntries(rows.map(({ name, mean }) => [`depth/${name}`, mean])),
    "depth/at cap": rows[0]!.atCap,
  };
}

/** Guesses of one head, added up. */
class Guesses {
  count = 0;
  #loss = 0;
  #hits = 0;

  add(loss: number, right: boolean): void {
    this.count++;
    this.#loss += loss;
    if (right) this.#hits++;
  }

  get mean(): { loss: number; accuracy: number } | undefined {
    return this.count === 0 ? undefined : { loss: this.#loss / this.count, accuracy: this.#hits / this.count };
  }
}

/** What is added up over batches. */
class Sums {
  readonly depths: DepthTally;
  readonly words = new Guesses();
  readonly order = new Guesses();
  readonly documents = new Guesses();
  texts = 0;
  tokens = 0;
  /** Whether tokens decide how deep they run. */
  decided = false;
  /** Depths and remainders of all tokens. */
  ponder = 0;

  constructor(cap: number) {
    this.depths = new DepthTally(cap);
  }

  add(
    batch: PretrainingBatch,
    found: Readonly<Record<string, { readonly data: ArrayLike<number> }>>,
    special: SpecialIds,
  ) {
    const { wordLoss, wordGuess, orderLoss, orderGuess, documentLoss, depths, remainders } = found;
    this.texts += batch.rows;
    for (const loss of Array.from(documentLoss?.data ?? [])) this.documents.add(loss, false);
    batch.maskedWeights.forEach((weight, i) => {
      if (weight > 0 && wordLoss) this.words.add(wordLoss.data[i]!, wordGuess!.data[i] === batch.maskedIds[i]);
    });
    batch.orderLabels.forEach((label, i) => {
      if (orderLoss) this.order.add(orderLoss.data[i]!, orderGuess!.data[i] === label);
    });
    eachToken(batch, special, (place, kinds) => {
      this.tokens++;
      if (!depths) return;
      this.decided = true;
      this.ponder += depths.data[place]! + (remainders?.data[place] ?? 0);
      for (const kind of kinds) this.depths.add(kind, depths.data[place]!);
    });
  }
}
