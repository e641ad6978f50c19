/** The words of a document from half of them, by the word table alone: what texts are about, learnt before any layer. */
import { add, input, matmul, mean, type Tensor } from "../../graph/index.ts";
import { PairTable } from "../../nn/index.ts";
import type { Objective } from "../causal.ts";
import type { Albert } from "./albert.ts";
import { documentLosses } from "./losses.ts";

/** Pairs of neighbours of a document that are shown, at most. */
export const SHOWN_PAIRS = 128;

/** Guesses of documents' words, and what they cost. */
export interface DocumentWords extends Objective {
  /** Cross-entropy of each document's guess, [B]. */
  readonly losses: Tensor;
}

/**
 * With e the mean vector of the words that are shown, behind the norm that layers see them through, e · tableᵀ and the logarithms of usual
 * shares are the scores of all words. The inputs are shares of 1, [B, V] (what is shown, what is asked for), and [V] (what is usual). Where
 * the model has a table of pairs, the mean vector of the pairs that are shown is added to e: both pieces and shares of 1 are [B, P].
 */
export function documentWords({ options: { vocabulary }, embeddings }: Albert, batch: number): DocumentWords {
  const { words: table, norm } = embeddings;
  const pairs = embeddings.pairs && new PairTable(embeddings.pairs, vocabulary);
  const shownWords = input("shownWords", [batch, vocabulary]);
  const words = input("documentWords", [batch, vocabulary]);
  const usualWords = input("usualWords", [vocabulary]);
  const shape = [batch, SHOWN_PAIRS];
  const neighbours = pairs && {
    shownLefts: input("shownLefts", shape, "int"),
    shownRights: input("shownRights", shape, "int"),
    pairShares: input("pairShares", shape),
  };
  const single = matmul(shownWords, norm.apply(table.weight.tensor)); // [B, E]
  const { shownLefts: lefts, shownRights: rights, pairShares: shares } = neighbours ?? {};
  const shown = pairs ? add(single, pairs.weighted(pairs.rows(lefts!, rights!), shares!)) : single;
  const scores = table.logits(shown); // [B, V]
  const losses = documentLosses(add(scores, usualWords), words);
  const inputs = { shownWords, documentWords: words, usualWords, ...neighbours };
  return { loss: mean(losses), losses, inputs, noise: [] };
}
