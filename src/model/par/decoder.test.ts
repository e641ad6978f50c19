import { describe, expect, it } from "vitest";
import { base, tokens, weightsOf } from "../../../test/steep-model.ts";
import { difference, runOnce } from "../../engine/engine.contract.ts";
import { ortEngine } from "../../engine/ort.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { input } from "../../graph/index.ts";
import { initialise } from "../../nn/index.ts";
import { generateIds } from "../generation.ts";
import { ParDecoder } from "./decoder.ts";
import { type ParOptions, parModel } from "./par.ts";

const options: ParOptions = { vocabulary: 20, width: 8, heads: 2, hidden: 12, blocks: "sfs", memory: 6, cutoffs: [6] };
const model = parModel(options);
const engine = referenceEngine();
const weights = new Map(
  [...initialise(model.parameters, 1)].map(([tensor, data]) => [
    tensor,
    data.map((value, i) => 4 * value + 0.1 * Math.sin(i)),
  ]),
);
const text = [3, 7, 7, 1, 19, 4];

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Texts of the decoder before, which worked the keys and values of its memory out again for every token; letters stand for ids. */
const segments = { vocabulary: base.vocabulary, width: base.width, heads: 4, hidden: 32, memory: 12 } as const;
const before: readonly { kind: string; options?: Partial<ParOptions>; memory?: number; text: string }[] = [
  { kind: "with a memory of 12", text: "ssstttssfftttibitgjhtsigtsgtsgtshaetgetm" },
  { kind: "of the original", options: { compat: "original" }, text: "vmvvvvvvvvvviiiiiiiiiiiiiiigggggcrgrgiii" },
  {
    kind: "of equal lengths, distances clamped",
    options: { sameLength: true, clampLength: 5 },
    text: "ssstttsssttihfffvagtsgtgjigigwhkctstsaht",
  },
  { kind: "with an adaptive softmax", options: { cutoffs: [6] }, text: "wceeqagdcccccccccnefefreefqebdefrbfcdbbf" },
  { kind: "without memory", options: { memory: 0, blocks: "sf" }, text: "taktaktaktaktaktaktaktaktaktaktaktaktakt" },
  { kind: "before its search", options: { blocks: 2 }, text: "dfqecrqecqeleqekektdfredrrdffffcrqqeccre" },
  { kind: "with a memory of 3", memory: 3, text: "getghufffgqukttaeiamfuagcgagks" },
];

describe.each(before)("a Transformer-XL $kind", ({ options: given, memory, text }) => {
  const network = parModel({ ...segments, blocks: "sfs", ...given });
  const prompt = tokens(text.length === 40 ? 3 : 7);
  const options = { prompt, maxTokens: text.length, temperature: 0, reading: { memory } };

  it.each([
    ["the reference engine", async () => referenceEngine()],
    ["ONNX Runtime", () => ortEngine({ threads: 1 })],
  ])("writes what it wrote before keys and values were kept, on %s", async (_, open) => {
    const ids = await all(generateIds(await open(), network, weightsOf(network), options));
    expect(ids.map((id) => String.fromCharCode(97 + id)).join("")).toBe(text);
  });
});

describe("generation from memory", () => {
  it("reads token by token what the model reads at once", async () => {
    const segment = model.segment(input("ids", [1, 6], "int"), { batch: 1, length: 6, memory: 0 });
    const logs = model.words.logProbabilities(segment.hidden);
    const feeds = Object.fromEntries([...weights].map(([{ attributes }, data]) => [attributes.name, data]));
    const whole = await runOnce(engine, { logs }, { ...feeds, ids: Int32Array.from(text) });
    const decoder = await ParDecoder.create(engine, model, weights);
    for (const [i, id] of text.entries()) {
      // Memories pass in single precision.
      expect(difference(await decoder.read([id]), whole.logs!.data.slice(20 * i, 20 * i + 20))).toBeLessThan(1e-5);
    }
    await decoder.release();
  });

  it("gives the same tokens from the same seed, and the likeliest at temperature 0", async () => {
    const make = (rest: object) => all(generateIds(engine, model, weights, { prompt: text, maxTokens: 5, ...rest }));
    expect(await make({ seed: 3 })).toEqual(await make({ seed: 3 }));
    const greedy = await make({ temperature: 0 });
    expect(greedy).toHaveLength(5);
    expect(await make({ temperature: 0, seed: 9 })).toEqual(greedy);
    expect(await make({ temperature: 0, stop: [greedy[2]!] })).toEqual(greedy.slice(0, greedy.indexOf(greedy[2]!)));
  });

  it("works without memory, and with more than the model was trained with", async () => {
    for (const memory of [0, 20]) {
      const found = await all(generateIds(engine, model, weights, { prompt: text, maxTokens: 3, reading: { memory } }));
      expect(found.every((id) => id >= 0 && id < 20)).toBe(true);
    }
  });

  it("refuses an empty prompt", async () => {
    const made = all(generateIds(engine, model, weights, { prompt: [], maxTokens: 3 }));
    await expect(made).rejects.toThrow("prompt: expected at least one token, got none");
  });
});
