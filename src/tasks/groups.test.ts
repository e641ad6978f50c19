import { describe, expect, it } from "vitest";
import { referenceEngine } from "../engine/reference.ts";
import { TranslationModel } from "../model/seq2seq/translation.ts";
import { translationGroups } from "./groups.ts";

const { parameters } = new TranslationModel({
  vocabulary: 20,
  width: 8,
  heads: 2,
  hidden: 16,
  length: 8,
  encoderPlan: [0],
  decoderPlan: [0],
});
const groups = (optimiser: "muon" | "adamw") =>
  translationGroups({ optimiser, weightDecay: 0.1, momentum: 0.9 }, parameters, referenceEngine());

describe("the groups of a translation model", () => {
  it("give the matrices of both stacks to Muon, where it is asked for", () => {
    const [matrices, ...rest] = groups("muon");
    const names = matrices!.parameters.map(({ attributes: { name } }) => name);
    expect(names.some((name) => name.startsWith("encoder"))).toBe(true);
    expect(names.some((name) => name.startsWith("decoder"))).toBe(true);
    expect(matrices!.parameters.every(({ attributes: { shape } }) => shape.length === 2)).toBe(true);
    expect(matrices!.optimiser).not.toEqual(rest[0]!.optimiser);
    expect(groups("adamw")).toHaveLength(2);
  });
});
