/** The words of a document from half of them, by the word table alone: what texts are about, learnt before any layer. */
import { add, input, matmul, mean, type Tensor } from "../../graph/index.ts";
import type { Objective } from "../causal.ts";
import type { Albert } from "./albert.ts";
import { documentLosses } from "./losses.ts";

/** Guesses of documents' words, and what they cost. */
export interface DocumentWords extends Objective {
  /** Cross-entropy of each document's guess, [B]. */
  readonly losses: Tensor;
}

/**
 * With e the mean vector of the words that are shown, behind the norm that layers see them through, e · tableᵀ and the logarithms of usual
 * shares are the scores of all words. The inputs are shares of 1, [B, V] (what is shown, what is asked for), and [V] (what is usual).
 */
export function documentWords({ options: { vocabulary }, embeddings }: Albert, batch: number): DocumentWords {
  const shownWords = input("shownWords", [batch, vocabulary]);
  const words = input("documentWords", [batch, vocabulary]);
  const usualWords = input("usualWords", [vocabulary]);
  const shown = matmul(shownWords, embeddings.norm.apply(embeddings.words.weight.tensor)); // [B, E]
  const scores = embeddings.words.logits(shown); // [B, V]
  const losses = documentLosses(add(scores, usualWords), words);
  return { loss: mean(losses), losses, inputs: { shownWords, documentWords: words, usualWords }, noise: [] };
}
