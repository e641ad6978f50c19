import { describe, expect, it } from "vitest";
import { KeptKeys } from "./kept-keys.ts";

/** Two texts, one cache: two heads of keys of width 1 and of values of width 2. */
function kept(): KeptKeys {
  const keys = new KeptKeys([{ heads: 2, keys: 1, values: 2 }]);
  keys.begin(2, 3);
  return keys;
}

const numbers = (keys: KeptKeys) => Object.values(keys.feeds).map(({ data }) => [...data]);

describe("keys and values that are kept", () => {
  it("lie by texts, then heads, then rows", () => {
    const keys = kept();
    // Of each text: keys of both heads; then values of both heads.
    keys.put(Float32Array.of(1, 2, 3, 4, 10, 11, 20, 21, 30, 31, 40, 41), 1, 1);
    expect(numbers(keys)).toEqual([
      [0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4, 0],
      [0, 0, 10, 11, 0, 0, 0, 0, 20, 21, 0, 0, 0, 0, 30, 31, 0, 0, 0, 0, 40, 41, 0, 0],
    ]);
    expect(Object.entries(keys.feeds).map(([name, { shape }]) => [name, shape])).toEqual([
      ["past keys 0", [2, 2, 3, 1]],
      ["past values 0", [2, 2, 3, 2]],
    ]);
  });

  it("take several rows of each text", () => {
    const keys = new KeptKeys([{ heads: 2, keys: 1, values: 1 }]);
    keys.begin(1, 2);
    keys.put(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8), 0, 2);
    expect(numbers(keys)).toEqual([
      [1, 3, 2, 4],
      [5, 7, 6, 8],
    ]);
  });

  it("stay when there is more room, and when other texts leave", () => {
    const keys = kept();
    keys.put(Float32Array.of(1, 2, 3, 4, 10, 11, 20, 21, 30, 31, 40, 41), 0, 1);
    keys.enlarge(4);
    keys.keep([1]);
    expect(keys.rows).toBe(4);
    expect(numbers(keys)).toEqual([
      [3, 0, 0, 0, 4, 0, 0, 0],
      [30, 31, 0, 0, 0, 0, 0, 0, 40, 41, 0, 0, 0, 0, 0, 0],
    ]);
  });
});
