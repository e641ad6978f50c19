import { describe, expect, it } from "vitest";
import { initialise } from "../../nn/index.ts";
import { stateDict } from "../state-dict.ts";
import { describedAlbert } from "./description.ts";
import { resizedAlbert } from "./resize.ts";

const description = {
  model: { vocabulary: 4, embedding: 3, width: 4, heads: 2, depth: 1, length: 8 },
  heads: { maskedLanguage: {} },
};
const described = describedAlbert(description);
const weights = new Map(initialise(described.parameters, 1));
const bias = described.parameters.find(({ name }) => name === "predictions.bias")!;
weights.set(bias.tensor, Float32Array.of(1, 2, 3, 4));
const albert = { ...described, description, weights };

const named = (of: typeof albert) =>
  new Map([...stateDict(of.parameters, of.weights)].map(([name, { data }]) => [name, data]));

describe("an ALBERT for another vocabulary", () => {
  const words = "embeddings.word_embeddings.weight";
  const [old, found] = [named(albert), named(resizedAlbert(albert, [2, -1, 0, -1, -1], 7))];
  const row = (of: typeof old, i: number) => [...of.get(words)!.subarray(3 * i, 3 * i + 3)];

  it("has the rows of known pieces at their new places, and new ones of their size", () => {
    expect(found.get(words)).toHaveLength(15);
    expect([row(found, 0), row(found, 2)]).toEqual([row(old, 2), row(old, 0)]);
    expect(new Set([1, 3, 4].map((i) => String(row(found, i)))).size).toBe(3);
    expect([0, 1, 2, 3].map((i) => String(row(old, i)))).not.toContain(String(row(found, 1)));
    expect([...found.get("predictions.bias")!]).toEqual([3, 2, 1, 2, 2]);
  });

  it("keeps all other weights", () => {
    const others = [...old.keys()].filter((name) => name !== words && name !== "predictions.bias");
    expect(others.length).toBeGreaterThan(10);
    for (const name of others) expect(found.get(name)).toEqual(old.get(name));
  });

  it("is refused with a table of pairs, whose rows go by the numbers of pieces", () => {
    const paired = {
      ...albert,
      description: { ...albert.description, model: { ...albert.description.model, pairs: 9 } },
    };
    expect(() => resizedAlbert(paired, [0, 1], 7)).toThrow(/without a table of pairs.*got 9 rows of pairs/);
  });

  it("is all new where no piece is known, and the same where all are", () => {
    expect(
      named(resizedAlbert(albert, [-1, -1], 7))
        .get(words)!
        .every((x) => Number.isFinite(x)),
    ).toBe(true);
    expect(named(resizedAlbert(albert, [0, 1, 2, 3], 7))).toEqual(old);
  });
});
