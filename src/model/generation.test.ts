import { describe, expect, it } from "vitest";
import { base, tokens, weightsOf } from "../../test/steep-model.ts";
import { referenceEngine } from "../engine/reference.ts";
import { type GenerationOptions, generate, generateIds } from "./generation.ts";
import { languageModel } from "./language/language.ts";

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const each of source) all.push(each);
  return all;
}

describe("generation by ids", () => {
  const model = languageModel({ ...base, plan: [0, 1] });
  const weights = weightsOf(model);
  const run = async (options: Partial<GenerationOptions>, engine = referenceEngine()) =>
    collect(generateIds(engine, model, weights, { prompt: [1, 2, 3], maxTokens: 12, ...options }));

  it("repeats itself for a seed and differs for another", async () => {
    const one = await run({ seed: 1, topK: 10 });
    expect(one).toHaveLength(12);
    expect(await run({ seed: 1, topK: 10 })).toEqual(one);
    expect(await run({ seed: 2, topK: 10 })).not.toEqual(one);
  });

  it("ends before a stop token", async () => {
    const free = await run({ temperature: 0 });
    const stop = free[4]!;
    expect(await run({ temperature: 0, stop: [stop] })).toEqual(free.slice(0, free.indexOf(stop)));
  });

  it("takes a prompt longer than the model reaches", async () => {
    const prompt = tokens(3 * base.length);
    expect(await run({ prompt, temperature: 0 })).toEqual(
      await run({ prompt: prompt.slice(-base.length / 2), temperature: 0 }),
    );
  });

  it("ends with the signal's reason", async () => {
    const controller = new AbortController();
    const source = generateIds(referenceEngine(), model, weights, {
      prompt: [1],
      maxTokens: 5,
      signal: controller.signal,
    });
    expect((await source.next()).done).toBe(false);
    controller.abort(new Error("enough"));
    await expect(source.next()).rejects.toThrow("enough");
  });

  it("names what is wrong with a prompt or the weights", async () => {
    await expect(run({ prompt: [] })).rejects.toThrow("prompt: expected at least one token, got none");
    await expect(run({ prompt: [1, 23] })).rejects.toThrow("text: expected ids from 0 to 22, got 23");
    const options = { prompt: [1], maxTokens: 1 };
    const bare = generateIds(referenceEngine(), model, new Map(), options);
    await expect(bare.next()).rejects.toThrow("weight embedding.weight: expected 368 values, got none");
  });
});

describe("generation of text", () => {
  const model = languageModel({ ...base, plan: [0, 1] });
  const weights = weightsOf(model);
  const engine = referenceEngine();
  /** A letter per id. */
  const tokenizer = {
    encode: (text: string) => Array.from(text, (letter) => letter.charCodeAt(0) - 97),
    decode: (ids: readonly number[]) => ids.map((id) => String.fromCharCode(97 + id)).join(""),
  };
  const greedy = { temperature: 0, maxTokens: 12 };
  const asked = { engine, tokenizer, prompt: "abc", ...greedy };

  it("is the decoded ids, in the parts that are new", async () => {
    const ids = await collect(generateIds(engine, model, weights, { ...greedy, prompt: [0, 1, 2] }));
    const parts = await collect(generate({ model, weights }, asked));
    expect(parts).toEqual(ids.map((id) => tokenizer.decode([id])));
  });

  it("ends before the stop text", async () => {
    const whole = (await collect(generate({ model, weights }, asked))).join("");
    const stop = whole.slice(5, 7);
    const cut = await collect(generate({ model, weights }, { ...asked, stop }));
    expect(cut.join("")).toBe(whole.slice(0, whole.indexOf(stop)));
  });

  it("holds back what only looks like the stop text, and gives it out at the end", async () => {
    const whole = (await collect(generate({ model, weights }, asked))).join("");
    const parts = await collect(generate({ model, weights }, { ...asked, stop: `${whole.slice(3, 5)}!` }));
    expect(parts.join("")).toBe(whole);
    expect(parts.length).toBeLessThan(whole.length);
  });

  it("speaks the tokenizer's ids where the model has ranks", async () => {
    const ranks = Int32Array.from({ length: base.vocabulary }, (_, id) => base.vocabulary - 1 - id);
    const ids = await collect(generateIds(engine, model, weights, { ...greedy, prompt: [22, 21, 20] }));
    const parts = await collect(generate({ model, weights, ranks }, asked));
    expect(parts.join("")).toBe(tokenizer.decode(ids.map((id) => 22 - id)));
  });

  it("refuses an option that it does not know", async () => {
    const misspelt = collect(generate({ model, weights }, { ...asked, top_k: 3 } as typeof asked));
    await expect(misspelt).rejects.toThrow("got top_k; did you mean topK?");
  });

  it("refuses a prompt without a piece, and a letter outside the vocabulary", async () => {
    await expect(collect(generate({ model, weights }, { ...asked, prompt: "" }))).rejects.toThrow(
      'prompt: expected at least one piece of text, got ""',
    );
    await expect(collect(generate({ model, weights }, { ...asked, prompt: "z" }))).rejects.toThrow(
      "text: expected ids from 0 to 22, got 25",
    );
  });
});
