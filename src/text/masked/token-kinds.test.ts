import { describe, expect, it } from "vitest";
import { eachToken, kindsOf } from "./token-kinds.ts";

const special = { pad: 0, cls: 2, sep: 3, mask: 4 };

describe("kinds of tokens", () => {
  it("never take a shown mask for a random piece", () => {
    expect(kindsOf(4, 9, special)).toEqual(["all", "[MASK/MASK]"]);
    expect(kindsOf(8, 9, special)).toEqual(["all", "unmasked", "[MASK/random]"]);
    expect(kindsOf(9, 9, special)).toEqual(["all", "unmasked", "[MASK/original]"]);
  });

  it("tell the frame from the text", () => {
    expect([2, 3, 7].map((id) => kindsOf(id, undefined, special).at(-1))).toEqual(["[CLS]", "[SEP]", "unmasked"]);
  });

  it("leave padding and empty slots out", () => {
    const batch = {
      rows: 1,
      inputIds: Int32Array.of(2, 4, 8, 3, 0),
      inputMask: Int32Array.of(1, 1, 1, 1, 0),
      segmentIds: new Int32Array(5),
      tokenBoundary: new Int32Array(5),
      maskedPositions: Int32Array.of(1, 0),
      maskedIds: Int32Array.of(9, 0),
      maskedWeights: Float32Array.of(1, 0),
      orderLabels: Int32Array.of(0),
    };
    const seen: string[] = [];
    eachToken(batch, special, (place, kinds) => seen.push(`${place} ${kinds.at(-1)}`));
    expect(seen).toEqual(["0 [CLS]", "1 [MASK/MASK]", "2 unmasked", "3 [SEP]"]);
  });
});
