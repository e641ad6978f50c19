import { describe, expect, it } from "vitest";
import { referenceEngine } from "../../engine/reference.ts";
import { describedAlbert } from "../../model/albert/description.ts";
import { textInputs } from "../../model/albert/heads.ts";
import { inference } from "../../nn/index.ts";
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
    const bias = firstWeights({ seed: 1, frequencyBias: true, documentShare: 0 }, described, batches).get(tensor)!;
    const shares = [0.5, 0.5, 0.5, 0.5, 0.5, 3.5, 1.5, 0.5].map((each) => each / 8);
    for (const [i, share] of shares.entries()) expect(Math.exp(bias[i]!)).toBeCloseTo(share, 6);
  });

  it("are otherwise those of the seed", () => {
    const plain = firstWeights({ seed: 1, frequencyBias: false, documentShare: 0 }, described, batches);
    const counted = firstWeights({ seed: 1, frequencyBias: true, documentShare: 0 }, described, batches);
    expect(plain.get(tensor)!.every((value) => value === 0)).toBe(true);
    for (const [each, values] of plain) if (each !== tensor) expect(counted.get(each)).toEqual(values);
  });

  it("let vectors through as they are where words of documents come first", async () => {
    const square = describedAlbert({
      model: { vocabulary: 8, embedding: 8, width: 8, heads: 2, depth: 2, length: 16 },
      heads: {},
    });
    const asked = { seed: 1, frequencyBias: false, documentShare: 0.5 };
    const weights = firstWeights(asked, square, batches);
    const { model } = square;
    const texts = textInputs({ batch: 1, length: 4 });
    const encoded = model.encode(texts);
    const program = await referenceEngine().compile({
      outputs: { before: model.embeddings.apply(texts.ids, texts.types, inference), after: encoded.sequence },
      weights,
    });
    const row = (...data: number[]) => ({ data: Int32Array.from(data), shape: [1, 4] });
    const { before, after } = await program.run({
      ids: row(2, 5, 6, 3),
      mask: row(1, 1, 1, 1),
      types: row(0, 0, 0, 0),
    });
    for (const [i, value] of after!.data.entries()) expect(value).toBeCloseTo(before!.data[i]!, 4);
    const narrow = firstWeights(asked, described, batches);
    const mapping = described.parameters.find(({ name }) => name.endsWith("mapping_in.weight"))!;
    expect(narrow.get(mapping.tensor)).toEqual(
      firstWeights({ ...asked, documentShare: 0 }, described, batches).get(mapping.tensor),
    );
  });
});
