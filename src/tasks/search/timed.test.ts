import { describe, expect, it } from "vitest";
import { ortEngine } from "../../engine/ort.ts";
import { openTimedSearch } from "./timed.ts";
import { tinySearch } from "./tiny.contract.ts";

describe("a search measured in minutes", () => {
  it("knows its updates before it begins, and keeps them instead of the minutes", async () => {
    const engine = await ortEngine({ threads: 1 });
    const { settings, course } = await openTimedSearch(
      { ...tinySearch, cutoffs: [], minutes: 1, freeze: 0.5 },
      { engine },
    );
    const { steps, epochs, minutes } = settings;
    expect(steps).toBeGreaterThan(60); // slower than a second per update would be a fault
    expect([epochs, minutes, course.total]).toEqual([null, null, steps]);
    expect(course.frozen).toBe(Math.floor(steps! / 2));
  });
});
