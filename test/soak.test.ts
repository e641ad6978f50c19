import { expect, it } from "vitest";
import { judge, type Sample, soak } from "../bench/soak.ts";

const samplesOf = (...megabytes: number[]): Sample[] =>
  megabytes.map((residentMb, i) => ({ step: i + 1, residentMb, heapMb: 1, loss: 1 }));

it("300 steps of the soak learn and sample memory", async () => {
  const { samples, msPerStep, baseMb } = await soak({ steps: 300, warmUp: 100, every: 50 });
  expect(samples.map(({ step }) => step)).toEqual([50, 100, 150, 200, 250, 300]);
  expect(samples.at(-1)!.loss).toBeLessThan(samples[0]!.loss / 2);
  expect(msPerStep).toBeGreaterThan(0);
  expect(baseMb).toBeGreaterThan(0);
});

it("the soak's verdict looks only past warm-up, at growth and at loss", () => {
  expect(judge(samplesOf(500, 100, 101, 104), 1)).toMatchObject({ baseMb: 100, flat: true });
  expect(judge(samplesOf(100, 100, 102, 106), 1)).toMatchObject({ flat: false });
  expect(judge(samplesOf(100, 100, 94, 100), 1).drift).toBeCloseTo(-0.06);
});
