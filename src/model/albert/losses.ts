/** Cross-entropies of ALBERT's heads: over the rows that count, and over the words of documents. */
import {
  add,
  and,
  cast,
  crossEntropy,
  divide,
  equal,
  less,
  logSoftmax,
  multiply,
  negate,
  not,
  select,
  sum,
  type Tensor,
} from "../../graph/index.ts";

/** Labels of this value count for nothing. */
export const IGNORED = -100;

/** Σ w·CE / (Σ w + ε): the mean over the rows that count. */
export function weightedCrossEntropy(logits: Tensor, labels: Tensor, weights: Tensor, epsilon = 0): Tensor {
  const each = multiply(crossEntropy(logits, labels), weights);
  const count = sum(weights);
  return divide(sum(each), epsilon ? add(count, epsilon) : count);
}

/** Mean cross-entropy over labels that are not `IGNORED`; rows [N, V], labels [N]. */
export function maskedCrossEntropy(logits: Tensor, labels: Tensor): Tensor {
  const counts = not(equal(labels, IGNORED));
  return weightedCrossEntropy(logits, select(counts, labels, 0), cast(counts, "float"));
}

/** 1 for labels that count, 0 for others. */
export const counting = (labels: Tensor) => cast(not(equal(labels, IGNORED)), "float");

/** Cross-entropy of each text's guess with its document's words, [B, V] each. */
export const documentLosses = (logits: Tensor, words: Tensor): Tensor =>
  negate(sum(multiply(words, logSoftmax(logits)), { axes: [1] }));

/** Mean cross-entropy of places [N] in texts, by scores [N, T]; one beyond the text does not count. */
export function placeLoss(logits: Tensor, places: Tensor): Tensor {
  const within = and(less(places, Number(logits.shape[1])), not(less(places, 0)));
  return weightedCrossEntropy(logits, select(within, places, 0), cast(within, "float"));
}
