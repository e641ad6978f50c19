import { describe, expect, it } from "vitest";
import { input, type Tensor } from "../graph/index.ts";
import { type Block, inference, TransformerBlock } from "../nn/index.ts";
import { depthContract } from "./depth.contract.ts";
import { fixed } from "./fixed.ts";
import { cycleReverse } from "./plan.ts";

const blocks = (width: number, count: number) =>
  Array.from({ length: count }, (_, i) => {
    return new TransformerBlock(`blocks.${i}`, { width, heads: 2, hidden: 12, dropout: 0.1, activation: "gelu" });
  });

depthContract("fixed", (width) => fixed(blocks(width, 3), cycleReverse({ unique: 3, depth: 6 })));
depthContract("fixed with one block", (width) => fixed(blocks(width, 1), [0]));

describe("fixed depth", () => {
  it("runs the blocks in the order of the plan", () => {
    const ran: number[] = [];
    const spies = [0, 1, 2].map((i): Block => {
      const apply = (x: Tensor) => {
        ran.push(i);
        return x;
      };
      return { parameters: [], apply };
    });
    const policy = fixed(spies, [0, 1, 2, 2, 1, 0]);
    policy.apply(input("x", [6, 8]), { rows: { batch: 2, length: 3 }, mode: inference });
    expect([ran, policy.depth]).toEqual([[0, 1, 2, 2, 1, 0], 6]);
  });

  it.each([
    [[0, 3], "outside"],
    [[0, 1], "left out"],
    [[0, 1, 0.5, 2], "no block"],
  ])("refuses the plan %j for three blocks", (plan) => {
    expect(() => fixed(blocks(8, 3), plan)).toThrow(
      `plan: expected each of the blocks 0 … 2 at least once, got [${plan}]; number the blocks from 0 without gaps`,
    );
  });
});
