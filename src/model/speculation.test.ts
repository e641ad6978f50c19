import { describe, expect, it } from "vitest";
import { base, tokens, weightsOf } from "../../test/steep-model.ts";
import type { Engine } from "../engine/engine.ts";
import { ortEngine } from "../engine/ort.ts";
import { referenceEngine } from "../engine/reference.ts";
import type { Tensor } from "../graph/index.ts";
import { generate, generateIds, openWriter } from "./generation.ts";
import { type LanguageModel, languageModel } from "./language/language.ts";
import type { DraftCounts } from "./speculation.ts";

/** Deeper blocks change little, so that drafts are often right. */
function gentle(model: LanguageModel, draft: number): Map<Tensor<"parameter">, Float32Array> {
  const weights = weightsOf(model);
  for (const { name, tensor } of model.parameters) {
    const [, block] = /^blocks\.(\d+)/.exec(name) ?? [];
    if (Number(block) >= draft && tensor.shape.length > 1)
      weights.set(
        tensor,
        weights.get(tensor)!.map((x) => x / 8),
      );
  }
  return weights;
}

async function texts(
  engine: Engine,
  model: LanguageModel,
  weights: ReturnType<typeof gentle>,
  prompt: readonly number[],
  draft: { depth: number; tokens: number },
) {
  const read = async (how: object) => {
    const ids: number[] = [];
    const options = { prompt, maxTokens: 60, temperature: 0, ...how };
    for await (const id of generateIds(engine, model, weights, options)) ids.push(id);
    return ids;
  };
  let counts: DraftCounts | undefined;
  const drafted = await read({ draft: { ...draft, onEnd: (all: DraftCounts) => (counts = all) } });
  return { plain: await read({}), drafted, counts: counts! };
}

const depths: readonly (readonly [string, number])[] = [
  ["4 drop(0.2)", 2],
  ["2*3 drop(0.2, exit=2)", 2],
  ["2*3 relax(2, norms)", 3],
  ["(sf)x2", 3],
  ["5", 1],
  ["2*3", 4],
  ["1 + 1 loop(4, injection=add) + 1", 4],
  ["1 + 3 exits(gate)", 2],
  ["1*4 halt(biasInitial=-2)", 2],
  ["4 route(token)", 3],
  ["(2)*3 halt", 2],
];

describe("self-speculative generation", () => {
  it.each(depths)("%s with drafts of depth %i gives the text of plain greedy generation", async (depth, shallow) => {
    const model = languageModel({ ...base, depth });
    const weights = gentle(model, shallow);
    const { plain, drafted, counts } = await texts(referenceEngine(), model, weights, tokens(5), {
      depth: shallow,
      tokens: 3,
    });
    expect(drafted).toEqual(plain);
    expect(counts.accepted).toBeGreaterThan(0);
    expect(counts.accepted).toBeLessThanOrEqual(counts.drafted);
  });

  it("gives it on ONNX Runtime, where a pass of several tokens has other bits, beyond the model's length too", async () => {
    const engine = await ortEngine({ threads: 1 });
    const model = languageModel({ ...base, positions: "rotary", depth: "6 drop(0.2)" });
    const weights = gentle(model, 2);
    for (const [length, count] of [
      [1, 1],
      [4, 5],
      [40, 8],
    ] as const) {
      const { plain, drafted } = await texts(engine, model, weights, tokens(length), { depth: 2, tokens: count });
      expect(drafted).toEqual(plain);
    }
  });

  it("goes on with several tokens at once after texts that it keeps", async () => {
    const engine = await ortEngine({ threads: 1 });
    const model = languageModel({ ...base, positions: "rotary", length: 96, depth: "6 drop(0.2)" });
    const weights = gentle(model, 2);
    const tokenizer = {
      encode: (text: string) => tokens(text.length),
      decode: (ids: readonly number[]) => ids.join(" "),
    };
    const written = async (draft?: { depth: number; tokens: number }) => {
      const writer = await openWriter({ model, weights }, { engine, tokenizer, ...(draft ? { draft } : {}) });
      const ids: (number | undefined)[] = [];
      for (const [prompt, maxTokens] of [
        ["abcde", 9],
        ["ab", 2],
        ["abcdefghijkl".repeat(3), 7],
        ["abc", 40],
      ] as const) {
        const options = { prompt, maxTokens, temperature: 0, keep: ids.length > 0 };
        for await (const { id } of writer.write(options)) if (id !== undefined) ids.push(id);
      }
      await writer.release();
      return ids;
    };
    const plain = await written();
    expect(plain).toHaveLength(58);
    expect(await written({ depth: 2, tokens: 4 })).toEqual(plain);
    expect(await written({ depth: 5, tokens: 3 })).toEqual(plain);
  });

  it("reads again one by one where tokens are as likely as each other", async () => {
    const model = languageModel({ ...base, depth: "3 drop(0.2)" });
    const weights = new Map([...weightsOf(model)].map(([tensor, values]) => [tensor, values.map(() => 0)]));
    const { plain, drafted, counts } = await texts(referenceEngine(), model, weights, [3], { depth: 1, tokens: 2 });
    expect(drafted).toEqual(plain);
    expect(counts.repeated).toBeGreaterThan(0);
  });

  it("accepts nearly all of it where deeper blocks change almost nothing", async () => {
    const model = languageModel({ ...base, depth: "4 drop(0.2)" });
    const { counts } = await texts(referenceEngine(), model, gentle(model, 1), tokens(6), { depth: 3, tokens: 4 });
    expect(counts.accepted / counts.drafted).toBeGreaterThan(0.6);
  });

  it("refuses drafts as deep as the model, other temperatures, and policies without a beginning", async () => {
    const model = languageModel({ ...base, depth: "4 drop(0.2)" });
    const weights = weightsOf(model);
    const asked = { prompt: "ab", engine: referenceEngine(), tokenizer: { encode: () => [1], decode: () => "" } };
    const failing = async (how: object) => {
      for await (const _ of generate({ model, weights }, { ...asked, ...how })) break;
    };
    await expect(failing({ temperature: 0, draft: { depth: 4 } })).rejects.toThrow(
      "draft depth: expected a whole number from 1 to 3, got 4",
    );
    await expect(failing({ draft: { depth: 2 } })).rejects.toThrow("draft: expected temperature 0, got 1");
    await expect(failing({ temperature: 0, draft: { depth: 2, count: 3 } })).rejects.toThrow("got count");
    const looped = languageModel({ ...base, depth: "1 + 2 loop(3) + 1" });
    expect(() => looped.shallower(2)).toThrow("draft depth: expected at least 4 blocks, got 2 of 8");
    expect(looped.shallower(4).policy.depth).toBe(4);
  });
});
