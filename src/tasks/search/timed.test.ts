import { describe, expect, it } from "vitest";
import { ortEngine } from "../../engine/ort.ts";
import { search } from "./index.ts";
import { openTimedSearch } from "./timed.ts";
import { tinySearch } from "./tiny.contract.ts";

const tiny = { ...tinySearch, cutoffs: [] };

describe("a search measured in minutes", () => {
  it("knows about how many updates there are before it begins", async () => {
    const engine = await ortEngine({ threads: 1 });
    const { settings, course } = await openTimedSearch({ ...tiny, minutes: 1, freeze: 0.5 }, { engine }, true);
    const { steps, epochs, minutes } = settings;
    expect(steps).toBeGreaterThan(60); // slower than a second per update would be a fault
    expect([epochs, minutes, course.total]).toEqual([null, 1, steps]);
    expect(course.frozen).toBe(Math.floor(steps! / 2));
  });

  it("gives networks that are compared as many updates each", async () => {
    const engine = await ortEngine({ threads: 1 });
    const timed = { ...tiny, blocks: "sf", minutes: 1 };
    expect((await openTimedSearch(timed, { engine })).settings).toMatchObject({
      minutes: null,
      steps: expect.any(Number),
    });
  });

  it("ends by the clock, whatever was expected, with candidates cut on the way", async () => {
    const engine = await ortEngine({ threads: 1 });
    const hasty = { architectureRate: 0.2, cut: 0.7, evaluateEvery: 1000, evaluationBatch: 32, evaluationLength: 64 };
    const result = await search({ ...tiny, ...hasty, minutes: 0.1, engine }).result;
    expect(result.reason).toBe("finished");
    expect(result.elapsedMs).toBeGreaterThan(3500);
    expect(result.elapsedMs).toBeLessThan(9000); // six seconds, on a machine that may be busy
  }, 60_000);
});
