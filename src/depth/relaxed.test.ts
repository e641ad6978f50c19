import { describe, expect, it } from "vitest";
import { runOnce } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { input, type Tensor } from "../graph/index.ts";
import { type Context, inference, initialise, TransformerBlock } from "../nn/index.ts";
import { depthContract } from "./depth.contract.ts";
import { fixed } from "./fixed.ts";
import { halting } from "./halting.ts";
import { layerDropout } from "./layer-dropout.ts";
import { looped } from "./looped.ts";
import { nested } from "./nested.ts";
import { type RelaxOptions, relaxed } from "./relaxed.ts";

const block = (width: number, name = "blocks.0") =>
  new TransformerBlock(name, { width, heads: 2, hidden: 12, dropout: 0, activation: "gelu" });
const all: RelaxOptions = { rank: 2, norms: true, biases: true, scales: true };
const of = (width: number, visits: number, options = all) => relaxed(block(width), visits, { ...options, width });

depthContract("a relaxed block", (width) => fixed([of(width, 3)], [0, 0, 0]));
depthContract("a relaxed block with norms of its own", (width) => fixed([of(width, 2, { norms: true })], [0, 0]));
depthContract("a relaxed core of loops", (width) =>
  looped({ core: [of(width, 3)], loops: 3, width, injection: "add" }),
);
depthContract("relaxed blocks that halt, two a pass", (width) =>
  nested([fixed([of(width, 4)], [0, 0])], [0, 0], (blocks, plan) => halting(blocks, plan, { width, ponder: 0.1 })),
);

const WIDTH = 4;
const x = input("x", [3, WIDTH]);
const rows = { batch: 1, length: 3 };

describe("relaxed sharing", () => {
  it("is plain sharing before it is trained", async () => {
    const [plain, policy] = [fixed([block(WIDTH)], [0, 0]), fixed([of(WIDTH, 2)], [0, 0])];
    const [a, b] = [plain, policy].map((each) => each.apply(x, { rows, mode: inference }).hidden);
    const states = Float64Array.from({ length: 12 }, (_, i) => Math.sin(i));
    const run = async (each: typeof plain, y: typeof x) => {
      const weights = [...initialise(each.parameters, 3)].map(([{ attributes }, data]) => [attributes.name, data]);
      const found = await runOnce(referenceEngine(), { y }, { x: states, ...Object.fromEntries(weights) });
      return found.y!.data;
    };
    expect(await run(policy, b as typeof x)).toEqual(await run(plain, a as typeof x));
  });

  it("shares the matrices, and adds only what it is told", () => {
    const names = (options: RelaxOptions) => of(WIDTH, 2, options).parameters.map(({ name }) => name);
    const plain = block(WIDTH).parameters.map(({ name }) => name);
    expect(names({})).toEqual(plain);
    const extra = names({ rank: 1 }).filter((name) => !plain.includes(name));
    expect(extra.slice(0, 4)).toEqual(
      ["visit0.down", "visit0.up", "visit1.down", "visit1.up"].map((part) => `blocks.0.qkv.weight.${part}`),
    );
    expect(names({ norms: true }).filter((name) => name.endsWith("visit1"))).toHaveLength(4);
    expect(names({ scales: true }).slice(-2)).toEqual(["blocks.0.scale.visit0", "blocks.0.scale.visit1"]);
  });

  it("counts one block, at as many depths", () => {
    const { unique, depth, caches } = fixed([of(WIDTH, 3)], [0, 0, 0]);
    expect([unique, depth, caches]).toEqual([1, 3, 3]);
  });

  it("keeps a visit's weights where a stack within is used less deeply than it was trained", () => {
    const seen: (number | undefined)[] = [];
    const apply = (state: Tensor, { visit }: Context) => {
      seen.push(visit);
      return state;
    };
    const spy = { parameters: [], apply };
    const stack = looped({ core: [spy], loops: { mean: 1, most: 2 }, width: WIDTH });
    nested([stack], [0, 0], fixed).apply(x, { rows, mode: inference });
    nested([stack.at(2)], [0, 0], fixed).apply(x, { rows, mode: inference });
    nested([layerDropout([spy], [0, 0]).at(1)], [0, 0], fixed).apply(x, { rows, mode: inference });
    expect(seen).toEqual([0, 2, 0, 1, 2, 3, 0, 2]);
  });

  it("refuses more visits than it was made for, and policies that do not count them", () => {
    const policy = looped({ core: [of(WIDTH, 2)], loops: 2, width: WIDTH });
    expect(() => policy.at(3).apply(x, { rows, mode: inference })).toThrow(
      "blocks.0 / relaxed: expected at most 2 visits, got visit 3",
    );
    expect(() => of(WIDTH, 2).apply(x, { rows, mode: inference })).toThrow("expected context.visit");
    expect(() => of(WIDTH, 2, { rnak: 3 } as RelaxOptions)).toThrow("did you mean rank?");
  });
});
