import { describe, expect, it } from "vitest";
import { ortEngine } from "../engine/ort.ts";
import { blockEncoder } from "../model/albert/block-encoder.ts";
import { flopsOf, measureEncoder } from "./encoder-latency.ts";

const sizes = { vocabulary: 200, width: 64, heads: 2, hidden: 256, embedding: 16, depth: 4, length: 64 };
const shape = { batch: 1, length: 64 };

describe("costs of an encoder's blocks", () => {
  it("are those of every candidate and of the (sf)-baseline, and add up to whole networks in FLOPs", async () => {
    const searched = {
      candidates: [{ kind: "attention" }, { kind: "feed-forward", hidden: 512 }, { kind: "identity" }],
    };
    const engine = await ortEngine({ threads: 1 });
    const { candidates, rest, ...costs } = await measureEncoder(engine, { ...sizes, blocks: 4, searched }, shape);
    expect(candidates.map(({ name }) => name)).toEqual(["attention", "feed-forward", "feed-forward 512", "identity"]);
    expect(costs.shape).toEqual({ ...shape, memory: 0 });
    const flops = Object.fromEntries(candidates.map((each) => [each.name, each.flops]));
    const whole = flopsOf(blockEncoder({ ...sizes, blocks: "s f s f:512" }), shape);
    const sum = rest.flops + 2 * flops.attention! + flops["feed-forward"]! + flops["feed-forward 512"]!;
    expect(sum / whole).toBeCloseTo(1, 4); // the mask of padding is made once, not per block
    expect(flops["feed-forward 512"]! / flops["feed-forward"]!).toBeCloseTo(2, 1);
    expect(Math.min(rest.ms, ...candidates.slice(0, 3).map(({ ms }) => ms))).toBeGreaterThan(0);
  });
});
