import { describe, expect, it } from "vitest";
import { runOnce } from "../../engine/engine.contract.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { topological } from "../../graph/index.ts";
import { initialise } from "../../nn/index.ts";
import { pairRow } from "../../nn/pairs.ts";
import { describedAlbert } from "./description.ts";
import { documentWords, SHOWN_PAIRS } from "./document-words.ts";

const [VOCABULARY, WIDTH] = [7, 4];
const { model, parameters } = describedAlbert({
  model: { vocabulary: VOCABULARY, embedding: WIDTH, width: 8, heads: 2, depth: 2, length: 16, halting: {} },
  heads: { maskedLanguage: {} },
});
const weights = initialise(parameters, 1);
const name = "embeddings.word_embeddings.weight";
const table = weights.get(parameters.find((each) => each.name === name)!.tensor)!.map((value) => 20 * value);

/** A word's vector, its mean taken off, at a deviation of 1. */
function normed(word: number, words: Float32Array = table): number[] {
  const row = [...words.subarray(word * WIDTH, (word + 1) * WIDTH)];
  const mean = row.reduce((a, b) => a + b, 0) / WIDTH;
  const variance = row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / WIDTH;
  return row.map((x) => (x - mean) / Math.sqrt(variance + 1e-12));
}

describe("words of documents", () => {
  it("are scored by the mean vector of those that are shown, and by what is usual", async () => {
    const { losses } = documentWords(model, 2);
    const feeds = Object.fromEntries([...weights].map(([{ attributes }, data]) => [attributes.name, data]));
    const shownWords = Float32Array.of(0, 0.5, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0);
    const asked = Float32Array.of(0, 0.25, 0.25, 0.5, 0, 0, 0, 0, 0, 0, 0, 0.5, 0.5, 0);
    const usualWords = Float32Array.from({ length: VOCABULARY }, (_, i) => Math.log(0.1 + 0.02 * i));
    const given = { ...feeds, [name]: table, shownWords, documentWords: asked, usualWords };
    const { found } = await runOnce(referenceEngine(), { found: losses }, given);
    const shown = [[1, 2], [4]].map((words) => {
      const all = words.map((word) => normed(word));
      return all[0]!.map((_, k) => all.reduce((sum, vector) => sum + vector[k]!, 0) / words.length);
    });
    shown.forEach((vector, row) => {
      const scores = Array.from({ length: VOCABULARY }, (_, word) => {
        return vector.reduce((sum, x, k) => sum + x * table[word * WIDTH + k]!, usualWords[word]!);
      });
      const all = Math.log(scores.reduce((sum, score) => sum + Math.exp(score), 0));
      const expected = scores.reduce((sum, score, word) => sum - asked[row * VOCABULARY + word]! * (score - all), 0);
      expect(found!.data[row]).toBeCloseTo(expected, 4);
    });
  });

  it("are scored by the mean of shown pairs of neighbours as well, where the model has vectors for them", async () => {
    const described = describedAlbert({
      model: { vocabulary: VOCABULARY, embedding: WIDTH, width: 8, heads: 2, depth: 1, length: 16, pairs: 13 },
      heads: {},
    });
    const pairs = "embeddings.pair_embeddings.weight";
    const known = new Map(
      [...initialise(described.parameters, 1)].map(([{ attributes }, data]) => [attributes.name, data]),
    );
    const vectors = known.get(pairs)!.map((_, i) => Math.cos(i));
    const [lefts, rights] = [new Int32Array(SHOWN_PAIRS), new Int32Array(SHOWN_PAIRS)];
    const pairShares = new Float32Array(SHOWN_PAIRS);
    for (const [k, [left, right]] of [
      [1, 2],
      [6, 5],
    ].entries()) {
      [lefts[k], rights[k], pairShares[k]] = [left!, right!, 0.5];
    }
    const given = {
      ...Object.fromEntries(known),
      [pairs]: vectors,
      shownWords: Float32Array.of(0, 1, 0, 0, 0, 0, 0),
      documentWords: Float32Array.of(0, 0, 0, 1, 0, 0, 0),
      usualWords: new Float32Array(VOCABULARY),
      shownLefts: lefts,
      shownRights: rights,
      pairShares,
    };
    const { found } = await runOnce(referenceEngine(), { found: documentWords(described.model, 1).losses }, given);
    const words = known.get(name)!;
    const at = (k: number, left: number, right: number) => vectors[pairRow(left, right, 13) * WIDTH + k]!;
    const shown = normed(1, words).map((x, k) => x + (at(k, 1, 2) + at(k, 6, 5)) / 2);
    const scores = Array.from({ length: VOCABULARY }, (_, word) =>
      shown.reduce((sum, x, k) => sum + x * words[word * WIDTH + k]!, 0),
    );
    const all = Math.log(scores.reduce((sum, score) => sum + Math.exp(score), 0));
    expect(found!.data[0]).toBeCloseTo(all - scores[3]!, 5);
  });

  it("ask nothing of layers", () => {
    const used = new Set<unknown>(topological([documentWords(model, 2).loss]));
    const names = parameters.filter(({ tensor }) => used.has(tensor)).map((each) => each.name);
    expect(names.toSorted()).toEqual(["embeddings.LayerNorm.bias", "embeddings.LayerNorm.weight", name]);
  });
});
