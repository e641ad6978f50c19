import { describe, expect, it } from "vitest";
import {
  anything,
  check,
  checkOptions,
  defined,
  dropoutRate,
  fraction,
  number,
  oneOf,
  type Rule,
  type Rules,
  required,
  text,
  truth,
  whole,
} from "./options.ts";

interface Options {
  width: number;
  rate?: number;
  activation?: "relu" | "gelu";
}

const rules: Rules<Options> = {
  width: required(whole(1)),
  rate: number({ above: 0 }),
  activation: oneOf(["relu", "gelu"]),
};

const checked = (options: object) => () => checkOptions("model", options as Options, rules);

describe("checking options", () => {
  it("lets through what is known and in range, and what is undefined", () => {
    expect(checked({ width: 8, rate: 0.1, activation: "gelu" })).not.toThrow();
    expect(checked({ width: 8, rate: undefined })).not.toThrow();
  });

  it.each([
    [{ width: 8, widht: 4 }, "model: expected options among width, rate, activation, got widht; did you mean width?"],
    [{ width: 8, learningRate: 1 }, "got learningRate; did you mean rate?"],
    [{ width: 8, act: "relu" }, "got act; did you mean activation?"],
    [{ width: 8, xyzzy: 1 }, "got xyzzy; leave it out"],
    [{}, "model / width: expected a whole number from 1, got nothing"],
    [{ width: "8" }, 'model / width: expected a whole number from 1, got "8"'],
    [{ width: 8, rate: 0 }, "model / rate: expected a number above 0, got 0"],
    [{ width: 8, rate: Number.NaN }, "model / rate: expected a number above 0, got NaN"],
    [{ width: 8, activation: "geluu" }, 'expected one of relu, gelu, got "geluu"; did you mean gelu?'],
    [[], "model: expected an object with options, got []"],
  ])("refuses %j", (options, message) => {
    expect(checked(options)).toThrow(message);
  });

  it("does not let what is undefined take the place of a default", () => {
    expect({ rate: 1, warmup: 2, ...defined<{ rate?: number | undefined }>({ rate: undefined }) }).toEqual({
      rate: 1,
      warmup: 2,
    });
  });

  it("takes a bare list of names too", () => {
    expect(() => checkOptions("beam", { size: 4 }, ["size", "alpha"])).not.toThrow();
    expect(() => checkOptions("beam", { sise: 4 }, ["size", "alpha"])).toThrow("did you mean size?");
  });

  it("needs a rule for every option, marked where there is no default", () => {
    // @ts-expect-error activation is missing
    const incomplete: Rules<Options> = { width: required(whole(1)), rate: anything };
    // @ts-expect-error width has no default
    const unmarked: Rules<Options> = { ...rules, width: whole(1) };
    expect([Object.keys(incomplete), unmarked.width.needed]).toEqual([["width", "rate"], "a whole number from 1"]);
  });
});

describe("rules", () => {
  it.each<[Rule, string, unknown[], unknown[]]>([
    [whole(1, 4), "a whole number from 1 to 4", [1, 4], [0, 5, 1.5, "2", Number.NaN]],
    [number(), "a number", [-1, 0.5], [Number.POSITIVE_INFINITY, null]],
    [number({ above: 0, to: 1 }), "a number above 0 to 1", [0.1, 1], [0, 1.1]],
    [fraction, "a number from 0 to 1", [0, 1], [-0.1, 1.1]],
    [dropoutRate, "a number from 0 to below 1", [0, 0.99], [1, 2]],
    [truth, "true or false", [true, false], ["false", 0]],
    [text, "text", ["a"], ["", 1]],
    [anything, "anything", [undefined, 1], []],
  ])("%o", (rule, needed, good, bad) => {
    expect(rule.needed).toBe(needed);
    for (const value of good) expect(check("x", value, rule)).toBe(value);
    for (const value of bad) expect(() => check("x", value, rule)).toThrow(`x: expected ${needed}, got `);
  });
});
