import { describe, expect, it } from "vitest";
import { RandomStream } from "../../../base/random.ts";
import type { Path } from "../../../train/path-program.ts";
import { pickWithin, spreadOver } from "./front.ts";
import {
  bred,
  type Choices,
  computedBy,
  drawPath,
  packed,
  patternOfPath,
  type Ranked,
  regularPaths,
  turnsOf,
} from "./paths.ts";
import { type RankingOptions, rankNetworks, undominated } from "./ranking.ts";

const candidates = [{ kind: "attention" }, { kind: "feed-forward" }, { kind: "identity" }];
const choicesOf = (blocks: number): Choices => Array.from({ length: blocks }, () => candidates);
const costOf = (path: Path) => 1 + path.reduce((sum, place) => sum + [5, 2, 0][place]!, 0);
/** Attention helps early, feed-forward late, and blocks that differ from the one before help a little. */
const lossOf = (path: Path) =>
  6 -
  path.reduce((sum, k, i) => sum + [0.5 / (1 + i), 0.1 + 0.02 * i, 0][k]! + (k < 2 && k !== path[i - 1] ? 0.05 : 0), 0);

const rankedAlone = (path: Path): Ranked => {
  const skipped = path.filter((place) => place === 2).length;
  return { path, cost: costOf(path), loss: lossOf(path), judged: lossOf(path) + 0.002 * skipped };
};

function optionsOf(blocks: number, networks: number): RankingOptions {
  const losses = async (paths: readonly Path[]) => paths.map(lossOf);
  return { choices: choicesOf(blocks), seed: 1, networks, costOf, losses };
}

async function ranked(options: RankingOptions): Promise<{ front: Ranked[]; measured: Ranked[] }> {
  const ranking = rankNetworks(options);
  for (;;) {
    const { value, done } = await ranking.next();
    if (done) return value;
  }
}

/** Every network once: what is skipped stands at the end. */
function everyPath(choices: Choices): Path[] {
  const all = choices.reduce<Path[]>(
    (paths, block) => paths.flatMap((path) => block.map((_, k) => [...path, k])),
    [[]],
  );
  return all.filter((path) => packed(choices, path).join() === path.join());
}

describe("ranking", () => {
  it("finds the exact front where all networks are measured", async () => {
    const { front, measured } = await ranked(optionsOf(4, 1000));
    const all = everyPath(choicesOf(4)).map(rankedAlone);
    expect(measured).toHaveLength(1 + 2 + 4 + 8 + 16);
    const figures = (list: readonly Ranked[]) => list.map(({ cost, loss }) => [cost, loss.toFixed(9)]);
    expect(figures(front)).toEqual(figures(undominated(all)));
  });

  it("comes near the exact front with a small part of them, and to the same one again", async () => {
    const { front } = await ranked(optionsOf(9, 300));
    const exact = undominated(everyPath(choicesOf(9)).map(rankedAlone));
    const best = (list: readonly Ranked[], most: number) => list.findLast(({ cost }) => cost <= most)?.loss ?? 6;
    for (const most of [8, 15, 22, 29, 36]) expect(best(front, most) - best(exact, most)).toBeLessThan(0.03);
    expect((await ranked(optionsOf(9, 300))).front).toEqual(front);
  });

  it("gives a front that falls as it gets dearer, no network of it beaten by one that was measured", async () => {
    const { front, measured } = await ranked(optionsOf(6, 300));
    for (const [i, { cost, judged }] of front.entries()) {
      if (i > 0) expect([cost > front[i - 1]!.cost, judged < front[i - 1]!.judged]).toEqual([true, true]);
      expect(measured.some((other) => other.cost <= cost && other.judged < judged)).toBe(false);
    }
  });

  it("lets blocks compute that make next to no difference, where there is time for it", async () => {
    const losses = async (paths: readonly Path[]) =>
      paths.map((path) => 6 - path.filter((place) => place === 0).length);
    const { front } = await ranked({ ...optionsOf(4, 81), losses });
    const counts = front.map(({ path }) => [0, 1].map((kind) => path.filter((place) => place === kind).length));
    // Two feed-forward blocks at most cost less than one more attention block, and four blocks are all there are.
    expect(counts.map(([s, f]) => `${s}s ${f}f`).join(", ")).toBe(
      "0s 0f, 0s 1f, 0s 2f, 1s 0f, 1s 1f, 1s 2f, 2s 0f, 2s 1f, 2s 2f, 3s 0f, 3s 1f, 4s 0f",
    );
  });
});

describe("paths", () => {
  it("are drawn with about every number of attention blocks alike", () => {
    const choices = choicesOf(8);
    const counts = Array<number>(9).fill(0);
    const random = new RandomStream(1, "test");
    for (let i = 0; i < 2000; i++) counts[drawPath(choices, random).filter((k) => k === 0).length]!++;
    expect(Math.min(...counts)).toBeGreaterThan(2000 / 9 / 3);
    expect(Math.max(...counts)).toBeLessThan((2000 / 9) * 2.5);
  });

  it("breed paths of the same candidates, and know what is one network", () => {
    const choices = choicesOf(6);
    const random = new RandomStream(2, "test");
    for (let i = 0; i < 200; i++) {
      const child = bred(choices, [turnsOf(choices), drawPath(choices, random)], random);
      expect(child.every((k) => k >= 0 && k < 3) && child.length === 6).toBe(true);
    }
    expect(patternOfPath(choices, turnsOf(choices))).toBe("(sf)x3");
    expect(packed(choices, [0, 2, 1, 2, 0, 2])).toEqual([0, 1, 0, 2, 2, 2]);
    // Blocks that offer something else stay where they are.
    expect(packed([...choices.slice(1), candidates.slice(0, 2)], [0, 2, 1, 2, 0, 1])).toEqual([0, 2, 1, 2, 0, 1]);
    expect(computedBy(choices, [0, 2, 1, 2, 2, 2])).toBe(computedBy(choices, [2, 0, 2, 2, 1, 2]));
  });
});

describe("regular networks", () => {
  const written = (choices: Choices) => regularPaths(choices, [1, 1, 1, 1]).map((path) => patternOfPath(choices, path));

  it("are candidates by turns, then the cheapest, then nothing; the most turns first, and of these the deepest", () => {
    expect(written(choicesOf(4)).join(" ")).toBe("(sf)x2 s(f)x3 s(f)x2i sf(i)x2 (f)x4 (f)x3i (f)x2(i)x2 f(i)x3 (i)x4");
  });

  it("compute everywhere where no block may be skipped", () => {
    expect(written(choicesOf(4).map((block) => block.slice(0, 2)))).toEqual(["(sf)x2", "s(f)x3", "(f)x4"]);
  });
});

describe("a front", () => {
  const networks = [1, 2, 3, 4, 5].map((ms) => {
    return { pattern: `f${"s".repeat(ms)}`, ms, ratio: ms / 4, parameters: ms, perplexity: 60 - ms };
  });

  it("gives the best network within a budget, and refuses one below the cheapest", () => {
    expect(pickWithin(networks, 3.5).ms).toBe(3);
    expect(() => pickWithin(networks, 0.5)).toThrow(
      "budget: expected at least 1.00 ms, the cheapest network of the front",
    );
  });

  it("is spread over with the chosen network among the rest", () => {
    const shape = { batch: 1, length: 1, memory: 0 };
    const front = { networks, chosen: "fssss", baselineMs: 4, targetMs: null, measured: 9, tokens: 1, shape };
    expect(spreadOver(front, 3).map(({ ms }) => ms)).toEqual([1, 4, 5]);
    expect(spreadOver(front, 1).map(({ ms }) => ms)).toEqual([4]);
    expect(spreadOver(front, 9).map(({ ms }) => ms)).toEqual([1, 2, 3, 4, 5]);
  });
});
