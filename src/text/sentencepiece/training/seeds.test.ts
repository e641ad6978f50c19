import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Fragments, fragmentsOf } from "./fragments.ts";
import { TRAINING_DEFAULTS, type TrainingOptions } from "./options.ts";
import { makeSeeds } from "./seeds.ts";

function seedsOf(words: ReadonlyMap<string, number>, options: Partial<TrainingOptions> = {}): Map<string, number> {
  const fragments = fragmentsOf(words, [], 1);
  const { begins, lengths, weights } = makeSeeds(fragments, { ...TRAINING_DEFAULTS, ...options });
  return new Map([...begins].map((begin, i) => [textOf(fragments, begin, lengths[i]!), weights[i]! / lengths[i]!]));
}

function textOf({ symbols, characters }: Fragments, begin: number, length: number): string {
  return [...symbols.subarray(begin, begin + length)].map((symbol) => characters[symbol - 1]).join("");
}

/** How often a substring occurs, by looking everywhere. */
function frequency(words: ReadonlyMap<string, number>, part: string): number {
  let sum = 0;
  for (const [word, count] of words) {
    for (let at = word.indexOf(part); at >= 0; at = word.indexOf(part, at + 1)) sum += count;
  }
  return sum;
}

describe("the seeds of a training", () => {
  it("are substrings with their true frequencies", () => {
    const word = fc.stringMatching(/^[abc]{1,9}$/u);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(word, fc.integer({ min: 1, max: 5 })), { minLength: 1, maxLength: 12 }),
        (pairs) => {
          const words = new Map(pairs);
          for (const [text, count] of seedsOf(words)) expect(count).toBe(frequency(words, text));
        },
      ),
    );
  });

  it("hold every substring that cannot be lengthened", () => {
    const seeds = seedsOf(
      new Map([
        ["▁cats", 3],
        ["▁cat", 2],
        ["▁dog", 1],
      ]),
    );
    expect(seeds.get("▁cat")).toBe(5);
    expect(seeds.get("▁cats")).toBe(3);
    expect(seeds.get("at")).toBe(5);
    expect(seeds.has("▁ca")).toBe(false);
    expect(seeds.has("▁dog")).toBe(false);
    expect([..."▁catsdog"].every((character) => seeds.has(character))).toBe(true);
  });

  it("do not mix scripts, reach over spaces or grow too long", () => {
    const words = new Map([
      ["▁ab日本", 5],
      ["▁a▁b", 5],
      ["▁abcdefgh", 5],
    ]);
    const seeds = [...seedsOf(words, { maximumPieceLength: 4 }).keys()];
    expect(seeds).toContain("日本");
    expect(
      seeds.filter((seed) => /[a-z][日本]/u.test(seed) || seed.lastIndexOf("▁") > 0 || [...seed].length > 4),
    ).toEqual([]);
  });

  it("keep letters and digits apart as asked", () => {
    const words = new Map([
      ["▁1989年", 5],
      ["▁ab12", 5],
    ]);
    expect([...seedsOf(words, { splitDigits: true }).keys()].filter((seed) => /..*\d|\d.+/u.test(seed))).toEqual([]);
    expect(seedsOf(words, { splitByNumber: false }).has("▁ab12")).toBe(true);
    expect(seedsOf(words).has("▁ab12")).toBe(false);
  });

  it("are limited in number, the best first", () => {
    const seeds = seedsOf(
      new Map([
        ["▁aaaa", 9],
        ["▁bb", 2],
      ]),
      { seedSize: 1 },
    );
    expect([...seeds.keys()].filter((seed) => seed.length > 1)).toEqual(["aaa"]);
  });
});
