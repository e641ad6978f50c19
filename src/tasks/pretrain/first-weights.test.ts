import { describe, expect, it } from "vitest";
import { describedAlbert } from "../../model/albert/description.ts";
import type { PretrainingBatch } from "../../text/masked/examples.ts";
import { firstWeights } from "./first-weights.ts";

const described = describedAlbert({
  model: { vocabulary: 8, embedding: 4, width: 8, heads: 2, depth: 2, length: 16 },
  heads: { maskedLanguage: {} },
});
const { tensor } = described.parameters.find(({ name }) => name === "predictions.bias")!;
/** Piece 5 three times, piece 6 once; the last place is padding. */
const batch = { maskedIds: Int32Array.of(5, 5, 6, 5, 0), maskedWeights: Float32Array.of(1, 1, 1, 1, 0) };
const batches = { count: 1, at: () => batch as unknown as PretrainingBatch };

describe("first weights", () => {
  it("guess each piece as often as it occurs", () => {
    const bias = firstWeights({ seed: 1, frequencyBias: true }, described, batches).get(tensor)!;
    const shares = [0.5, 0.5, 0.5, 0.5, 0.5, 3.5, 1.5, 0.5].map((each) => each / 8);
    for (const [i, share] of shares.entries()) expect(Math.exp(bias[i]!)).toBeCloseTo(share, 6);
  });

  it("are otherwise those of the seed", () => {
    const plain = firstWeights({ seed: 1, frequencyBias: false }, described, batches);
    const counted = firstWeights({ seed: 1, frequencyBias: true }, described, batches);
    expect(plain.get(tensor)!.every((value) => value === 0)).toBe(true);
    for (const [each, values] of plain) if (each !== tensor) expect(counted.get(each)).toEqual(values);
  });
});
