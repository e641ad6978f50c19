import { expect, it } from "vitest";
import { parsePlan, shareModes } from "../../depth/plan.ts";
import { languageModel } from "../../model/language/language.ts";
import { seedsOf } from "../search/seeds.ts";
import { taskNames, taskSettings } from "./index.ts";

const sizes = ["depth", "unique", "width", "heads", "hidden", "length", "batch", "pieces", "threads", "steps"];

it.each(taskNames)("settings of %s refuse sizes that cannot be meant, and say the largest", async (task) => {
  const schema = await taskSettings[task]();
  const found = sizes.filter((key) => schema.keys.includes(key));
  expect(found.length).toBeGreaterThan(3);
  for (const key of found) {
    expect(() => schema.check({ [key]: 1e15 }, "flags"), key).toThrow(/expected a whole number from \d+ to \d+, got/);
  }
});

it("plans, seeds and models of a program refuse them too, before memory is taken", () => {
  expect(() => shareModes.cycle({ unique: 1, depth: 1e9 })).toThrow("unique ≤ depth ≤ 4096");
  expect(() => parsePlan("0,999999999")).toThrow("without 1");
  expect(() => parsePlan("0,".repeat(5000))).toThrow("at most 4096 depths, got 5000");
  expect(() => seedsOf(999_999_999, 1)).toThrow("a number from 1 to 1000");
  const sizes = { vocabulary: 10, heads: 1, plan: [0], length: 8, hidden: 8 };
  expect(() => languageModel({ ...sizes, width: 1e9 })).toThrow("a whole number from 1 to 65536, got 1000000000");
});
