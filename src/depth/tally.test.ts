import { expect, it } from "vitest";
import { DepthTally, depthTable, traceTable } from "./tally.ts";

it("gives mean, deviation and share at the cap of each name", () => {
  const tally = new DepthTally(6);
  for (const depth of [2, 4, 6, 6]) tally.add("verb", depth);
  tally.add("noun", 3);
  expect(tally.rows()).toEqual([
    { name: "verb", tokens: 4, mean: 4.5, deviation: Math.sqrt(2.75), atCap: 0.5 },
    { name: "noun", tokens: 1, mean: 3, deviation: 0, atCap: 0 },
  ]);
  expect(tally.rows(["noun", "adverb"]).map(({ name }) => name)).toEqual(["noun"]);
});

it("rows and traces are tables, rounded to thousandths", () => {
  expect(depthTable([{ name: "verb", tokens: 4, mean: 4.50049, deviation: 1, atCap: 0.5 }], "kind")).toMatch(
    /kind +tokens +iterations +deviation +at the cap\n.*verb +4 +4.5 +1 +50.0 %/s,
  );
  expect(traceTable([{ iteration: 1, tokens: 4, cosine: 0.12345 }])).toMatch(/1 +4 +0.123/);
});
