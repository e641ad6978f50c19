import { describe, expect, it } from "vitest";
import { referenceEngine } from "../engine/reference.ts";
import { parameter, type Role } from "../graph/index.ts";
import { type GroupOptions, optimiserGroups } from "./groups.ts";
import { sgd } from "./optimiser.ts";

const of = (name: string, shape: readonly number[], role?: Role) => ({ tensor: parameter(name, shape), role });
const parameters = [
  of("words", [9, 4], "table"),
  of("up", [8, 4], "matrix"),
  of("up bias", [8], "bias"),
  of("gain", [4], "norm"),
  of("unit", [1, 4], "halting"),
  of("unit bias", [1], "halting"),
  of("pi", [3], "architecture"),
  of("scores", [9, 4], "head"),
  of("own", [4, 4]),
];

/** `adamw: words up` for each group. */
const printed = (options: GroupOptions) =>
  optimiserGroups(parameters, options).map(({ optimiser, parameters }) => {
    return `${optimiser.name}: ${parameters.map(({ attributes }) => attributes.name).join(", ")}`;
  });

describe("optimiser groups", () => {
  it("are what decays and what does not, in the order given", () => {
    expect(printed({ optimiser: "adamw" })).toEqual([
      "adamw: words, up, unit, scores, own",
      "adamw: up bias, gain, unit bias, pi",
    ]);
  });

  it("have matrices before tables where that is asked for", () => {
    expect(printed({ optimiser: "lamb", matricesFirst: true })[0]).toBe("lamb: up, own, words, unit, scores");
  });

  it("give Muon the matrices inside blocks, and those without a role", () => {
    expect(printed({ optimiser: "muon", engine: referenceEngine() })).toEqual([
      "muon: up, own",
      "adamw: words, unit, scores",
      "adamw: up bias, gain, unit bias, pi",
    ]);
  });

  it("set roles apart with their own rate, turns and optimiser, matrices first and the others last", () => {
    const active = () => false;
    const byRole = { halting: { rateFactor: 0.1, active }, matrix: { optimiser: sgd() }, norm: {} };
    const groups = optimiserGroups(parameters, { optimiser: "adamw", byRole, active: () => true });
    expect(printed({ optimiser: "adamw", byRole })).toEqual([
      "sgd: up, own",
      "adamw: words, scores",
      "adamw: up bias, pi",
      "adamw: unit, unit bias",
      "adamw: gain",
    ]);
    expect(groups.map(({ rateFactor }) => rateFactor)).toEqual([undefined, undefined, undefined, 0.1, undefined]);
    expect(groups.map((group) => group.active!(1))).toEqual([true, true, true, false, true]);
  });

  it("stay as many when they are empty, for their updates are counted by place", () => {
    const groups = optimiserGroups([], { optimiser: "sgd", byRole: { architecture: {} } });
    expect(groups.map(({ parameters }) => parameters.length)).toEqual([0, 0, 0]);
  });

  it("make an optimiser for what decays and one for what does not", () => {
    const asked: boolean[] = [];
    const optimiser = (decays: boolean) => {
      asked.push(decays);
      return sgd();
    };
    expect(printed({ optimiser, byRole: { table: {}, bias: {} } })).toHaveLength(4);
    expect(asked).toEqual([true, false, true, false]);
  });

  it("refuse Muon without an engine, and names they do not know", () => {
    expect(() => printed({ optimiser: "muon" })).toThrow("muon: expected an engine, got none; give `engine` too");
    const optimiser = "adamax" as "adam";
    expect(() => printed({ optimiser })).toThrow(
      "expected one of muon, adamw, adam, lamb, sgd, or a function, got adamax",
    );
  });
});
