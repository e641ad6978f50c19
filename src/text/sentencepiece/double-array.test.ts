import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildDoubleArray } from "./double-array-builder.ts";
import { toBytes } from "./utf8.ts";

const keys = fc.uniqueArray(fc.stringMatching(/^[a-cé日]{1,6}$/u), { minLength: 1, maxLength: 60 });

function trieOf(texts: readonly string[], value: (index: number) => number, shared = false) {
  return buildDoubleArray(
    texts.map((text, i) => ({ key: toBytes(text), value: value(i) })),
    shared,
  );
}

describe("a double-array trie", () => {
  it("finds exactly its keys", () => {
    fc.assert(
      fc.property(keys, fc.stringMatching(/^[a-cé日]{1,6}$/u), (texts, other) => {
        const trie = trieOf(texts, (i) => i);
        for (const [i, text] of texts.entries()) expect(trie.find(toBytes(text), 0, toBytes(text).length)).toBe(i);
        const bytes = toBytes(other);
        expect(trie.find(bytes, 0, bytes.length)).toBe(texts.indexOf(other));
      }),
    );
  });

  it("finds the longest key that begins a text", () => {
    const trie = trieOf(["a", "ab", "abcd"], (i) => i);
    const text = toBytes("xabcx");
    expect(trie.longest(text, 1, 5)).toBe(2);
    expect(trie.longestValue).toBe(1);
    expect(trie.longest(text, 0, 5)).toBe(0);
  });

  it("answers the same with shared subtrees, in fewer units", () => {
    const texts = ["ka", "kb", "kc", "la", "lb", "lc"].flatMap((head) =>
      ["x", "y", "z"].map((tail) => `${head}${tail}q`),
    );
    const plain = trieOf(texts, (i) => i % 3);
    const shared = trieOf(texts, (i) => i % 3, true);
    for (const text of [...texts, "k", "kaxq!", "mx"]) {
      const bytes = toBytes(text);
      expect(shared.find(bytes, 0, bytes.length)).toBe(plain.find(bytes, 0, bytes.length));
    }
  });

  it("holds no NUL, even next to values", () => {
    const trie = trieOf(["a", "ab"], () => 0);
    expect(trie.longest(Uint8Array.of(97, 0, 98), 0, 3)).toBe(1);
    expect(trie.longest(Uint8Array.of(0, 97), 0, 2)).toBe(0);
    const low = trieOf(["\u0001", "\u0002"], () => 0);
    expect(low.start).not.toBe(0);
    expect(low.longest(Uint8Array.of(0, 1), 0, 2)).toBe(0);
  });

  it("holds many keys", () => {
    const texts = Array.from({ length: 20_000 }, (_, i) => `k${i.toString(36)}`);
    const trie = trieOf(texts, (i) => i);
    for (let i = 0; i < texts.length; i += 97) {
      expect(trie.find(toBytes(texts[i]!), 0, texts[i]!.length)).toBe(i);
    }
    expect(trie.units.length).toBeLessThan(120_000);
  });
});
