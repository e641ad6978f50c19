import { describe, expect, it } from "vitest";
import { ortEngine } from "../../engine/ort.ts";
import { describedAlbert } from "../../model/albert/description.ts";
import { initialise } from "../../nn/index.ts";
import { Classifier } from "./classifier.ts";
import { withEmbeddingsOf } from "./rescaling.ts";

const described = describedAlbert({
  model: { vocabulary: 30, embedding: 6, width: 8, heads: 2, depth: 3, length: 16, halting: {} },
  heads: { classification: { labels: 2 } },
});
const weights = initialise(described.parameters, 3);
const text = { ids: Int32Array.of(2, 9, 17, 21, 3), second: 5, label: 0 };

describe("embeddings of another deviation", () => {
  it("have it", () => {
    const { tensor } = described.parameters.find(({ name }) => name === "embeddings.word_embeddings.weight")!;
    const values = withEmbeddingsOf(0.3, described, weights).get(tensor)!;
    expect(Math.hypot(...values) / Math.sqrt(values.length)).toBeCloseTo(0.3, 6);
  });

  it("leave scores and all other weights as they are", async () => {
    const classifier = await Classifier.create(await ortEngine({ threads: 1 }), described);
    const large = withEmbeddingsOf(0.3, described, weights);
    const [before, after] = [
      await classifier.score(weights, [text], { pad: 0 }),
      await classifier.score(large, [text], { pad: 0 }),
    ];
    await classifier.release();
    // The norm divides by a deviation that was rounded in another binade: a few float32 roundings.
    for (const [i, score] of before.scores.entries()) expect(after.scores[i]).toBeCloseTo(score, 5);
    expect([...large].filter(([tensor, values]) => values !== weights.get(tensor))).toHaveLength(3);
  });
});
