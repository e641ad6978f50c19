import { describe, expect, it } from "vitest";
import { runOnce } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { input } from "../graph/index.ts";
import { inference, TransformerBlock } from "../nn/index.ts";
import { depthContract } from "./depth.contract.ts";
import { writtenDepth } from "./written.ts";

const policyOf = (text: string, width = 8) => {
  const options = { width, heads: 2, hidden: 8, dropout: 0, activation: "gelu" } as const;
  return writtenDepth(text, { width, block: (name) => new TransformerBlock(name, options) });
};
const namesOf = (text: string) => policyOf(text).parameters.map(({ name }) => name);

depthContract("a part whose tokens halt between others", (width) => policyOf("1 + 1*3 halt + 1", width));
depthContract("loops between others, with a gate after", (width) => {
  return policyOf("1 + 1 loop(2, injection=linear) + 1*2 exits(gate)", width);
});

describe("a written depth", () => {
  it("numbers blocks as they are written, and names a second policy of a kind apart", () => {
    const names = namesOf("1 + (1*2 halt)*2 halt");
    expect(new Set(names.map((name) => name.split(".").slice(0, 2).join(".")))).toEqual(
      new Set(["blocks.0", "blocks.1", "halting.unit", "halting2.unit"]),
    );
  });

  it.each([
    ["2 + 4*3 halt + 1", 7, 15, 15],
    ["2 + 2 loop(8, mean=4) + 2", 6, 20, 12],
    ["(2 + 1*2)*3 exits(gate)", 3, 12, 12],
    ["(2 loop(2))*3", 2, 12, 12],
    ["(1 + 1) loop(4)", 2, 8, 8],
    ["1*4 drop(0.2, cap=3)", 1, 3, 3],
    ["1*4 route(token, cap=2)", 1, 2, 2],
    ["2*4 halt(cap=3)", 2, 3, 3],
    ["4 halt(cap=3)", 3, 3, 3],
    ["2 loop(2, use=5)", 2, 10, 10],
    ["(2) loop(2, use=5)", 2, 10, 10],
  ])("%s has its blocks, depths and caches", (text, unique, depth, caches) => {
    expect(policyOf(text)).toMatchObject({ unique, depth, caches });
  });

  it("relaxes shared blocks for as many visits as all brackets make", () => {
    const visits = namesOf("(2*2 relax(3))*3").filter((name) => name.startsWith("blocks.0.qkv.weight.visit"));
    expect(visits).toHaveLength(2 * 6);
  });

  it.each([
    ["1 + (3)*2 exits(rule=last)", 7],
    ["1 + 2 loop(4, mean=2)", 5],
    ["(1 + 1 loop(3)) loop(5, use=2) + 1", 9],
  ])("%s gives the depth of tokens in use, in blocks over all parts", async (text, depth) => {
    const context = { rows: { batch: 1, length: 2 }, mode: inference };
    const { updates } = policyOf(text).apply(input("x", [2, 8]), context).probes;
    const { updates: found } = await runOnce(referenceEngine(), { updates: updates! }, {});
    expect([...found!.data]).toEqual([depth, depth]);
  });

  it("leaves ranges to the policies", () => {
    expect(() => policyOf("2*2 halt(epsilon=2)")).toThrow("halting / epsilon");
    expect(() => policyOf("2*2 halt(cap=5)")).toThrow("halting / cap: expected a whole number from 1 to 4");
    expect(() => policyOf("2 exits(rule=quantile)")).toThrow("train with gate: true");
  });
});
