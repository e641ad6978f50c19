import { describe, expect, it } from "vitest";
import { referenceEngine } from "../engine/reference.ts";
import { concat, input, type Weights } from "../graph/index.ts";
import { type AlbertOptions, albert } from "../model/albert/albert.ts";
import { blockEncoder } from "../model/albert/block-encoder.ts";
import { encodeByDepth } from "../model/albert/depth.ts";
import { initialise, type Parameter } from "../nn/index.ts";
import type { PieceTokenizer } from "../text/masked/documents.ts";
import { attentionsOf } from "./attentions.ts";
import { framedText } from "./depth-analysis.ts";

const letters = (text: string) => [...text.replace(/[^a-z]/g, "")];
/** A letter a piece, after the four special ones. */
const tokenizer = {
  size: 30,
  encode: (text: string) => Int32Array.from(letters(text), (letter) => letter.charCodeAt(0) - 93),
  encodePieces: (text: string) => letters(text),
  pieceOf: (id: number) => String.fromCharCode(93 + id),
} as unknown as PieceTokenizer;
const special = { pad: 0, cls: 1, sep: 2, mask: 3 };
const framing = { tokenizer, special, length: 8 };
const sizes: AlbertOptions = { vocabulary: 30, embedding: 4, width: 8, heads: 2, depth: 3, length: 8 };
const engine = referenceEngine();

/** softmax(q·kᵀ / √D) of one head out of states [T, C], by hand. */
function byHand(states: Float32Array, parameters: readonly Parameter[], weights: Weights, head: number): number[] {
  const [width, size] = [8, 4];
  const length = states.length / width;
  const named = (part: string) => weights.get(parameters.find(({ name }) => name.endsWith(part))!.tensor)!;
  const project = (part: string, token: number, column: number) => {
    const [weight, bias] = [named(`attention.${part}.weight`), named(`attention.${part}.bias`)];
    return Array.from({ length: width }, (_, c) => states[token * width + c]! * weight[column * width + c]!).reduce(
      (a, b) => a + b,
      bias[column]!,
    );
  };
  const columns = Array.from({ length: size }, (_, i) => head * size + i);
  return Array.from({ length }, (_, i) => {
    const scores = Array.from({ length }, (_, j) =>
      columns.reduce((sum, c) => sum + project("query", i, c) * project("key", j, c), 0),
    );
    const powers = scores.map((score) => Math.exp(score / Math.sqrt(size)));
    return powers.map((power) => power / powers.reduce((a, b) => a + b, 0));
  }).flat();
}

describe("attentions", () => {
  it("are those of a direct computation at each iteration and head of a model whose tokens halt", async () => {
    const model = albert({ ...sizes, halting: { biasInitial: -2 } });
    const weights = new Map([...initialise(model.parameters, 1)].map(([key, data]) => [key, data.map((x) => 20 * x)]));
    const { pieces, shape, values, depths } = await attentionsOf(engine, { model, weights }, "abca", framing);
    expect(pieces).toEqual(["[CLS]", "a", "b", "c", "a", "[SEP]"]);
    expect(shape).toEqual([Math.max(...depths), 2, 6, 6]);
    const { ids } = framedText("abca", framing);
    const { states } = encodeByDepth(model, { ids: input("ids", [1, 6], "int") });
    const program = await engine.compile({ outputs: { states: concat(states, 0) }, weights });
    const found = (await program.run({ ids: { data: ids, shape: [1, 6] } })).states!.data as Float32Array;
    for (let iteration = 0; iteration < shape[0]; iteration++) {
      for (const head of [0, 1]) {
        const before = found.subarray(iteration * 48, (iteration + 1) * 48);
        const own = values.subarray((iteration * 2 + head) * 36, (iteration * 2 + head + 1) * 36);
        const expected = byHand(before, model.parameters, weights, head);
        // Sums of eight float32 products, each with weights up to 1.
        for (const [i, value] of expected.entries()) expect(Math.abs(own[i]! - value)).toBeLessThan(1e-5);
      }
    }
    expect(new Set(Array.from(values, (value) => value.toFixed(3))).size).toBeGreaterThan(10);
  });

  it("end with the iterations that tokens ran, and have all of them where the depth is fixed", async () => {
    const shapeOf = async (halting?: AlbertOptions["halting"]) => {
      const model = albert({ ...sizes, halting });
      const weights = initialise(model.parameters, 1);
      return (await attentionsOf(engine, { model, weights }, "ab", framing)).shape;
    };
    expect(await shapeOf({ biasInitial: 9 })).toEqual([1, 2, 4, 4]);
    expect(await shapeOf()).toEqual([3, 2, 4, 4]);
  });

  it("are refused of blocks that were searched", async () => {
    const model = blockEncoder({ ...sizes, blocks: "(sff)x1" });
    const read = attentionsOf(engine, { model, weights: initialise(model.parameters, 1) }, "ab", framing);
    await expect(read).rejects.toThrow("attentions: expected an ALBERT of its own layers");
  });
});
