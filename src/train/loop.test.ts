import { describe, expect, it } from "vitest";
import { ortEngine } from "../engine/ort.ts";
import { input, multiply, sum } from "../graph/index.ts";
import { newParameter } from "../nn/index.ts";
import type { Measured, TrainEvent, TrainState } from "./events.ts";
import { type LoopOptions, trainLoop } from "./loop.ts";
import { sgd } from "./optimiser.ts";
import { TrainingStep } from "./step.ts";

async function oneWeight(): Promise<TrainingStep> {
  const x = input("x", [1]);
  const { tensor } = newParameter("w", [1], () => Float32Array.of(1));
  return TrainingStep.create({
    ...{ engine: await ortEngine({ threads: 1 }), loss: sum(multiply(x, tensor)), inputs: { x }, noise: [], seed: 1 },
    groups: [{ parameters: [tensor], optimiser: sgd() }],
    initial: new Map([[tensor, Float32Array.of(1)]]),
  });
}

/** Seconds that a run of a minute takes where an update takes `stepMs`, and an evaluation after every 100 of them 2 s. */
async function secondsOf(
  stepMs: (step: number) => number,
  how: Partial<LoopOptions> = {},
  see: (event: TrainEvent) => void = () => {},
): Promise<number> {
  const step = await oneWeight();
  let clock = 0;
  const at = (index: number) => {
    clock += stepMs(index);
    return { x: Float32Array.of(1) };
  };
  const evaluate = async () => {
    clock += 2000;
    return { loss: 1 };
  };
  for await (const event of trainLoop({
    ...{ step, batches: { count: 1, fresh: true, tokens: 1, at }, seed: 1, shuffle: false, accumulate: 1 },
    ...{ length: { minutes: 1 }, schedule: () => () => 0, now: () => clock },
    ...{ evaluate, evaluateEvery: 100, checkpointEvery: 1000 },
    ...how,
  }))
    see(event);
  await step.release();
  return clock / 1000;
}

/** At which updates an evaluation was the best so far, and which checkpoints were asked for. */
async function bestOf(evaluations: readonly Measured[], count = 1, rate = 0.1) {
  const step = await oneWeight();
  const left = [...evaluations];
  const [best, stored]: [number[], number[]] = [[], []];
  for await (const event of trainLoop({
    ...{ step, batches: { count, tokens: 1, at: () => ({ x: Float32Array.of(1) }) }, seed: 1, shuffle: false },
    ...{ length: { steps: evaluations.length }, schedule: () => () => rate, accumulate: 1 },
    ...{ evaluate: async () => left.shift()!, evaluateEvery: 1, checkpointEvery: 100 },
  })) {
    if (event.type === "evaluation" && event.best) best.push(event.step);
    if (event.type === "checkpoint") stored.push(event.step);
  }
  await step.release();
  return { best, stored };
}

const losses = [3, 2, 2.5, 1];

describe("the loop", () => {
  it("calls the lowest loss best, and asks for it to be stored", async () => {
    const found = await bestOf(losses.map((loss) => ({ loss, perplexity: 1 })));
    expect(found).toEqual({ best: [1, 2, 4], stored: [1, 2, 4] });
  });

  it("lets a scalar decide where there is one", async () => {
    const scored = losses.map((loss) => ({ loss, perplexity: 1, scalars: { accuracy: loss }, decisive: "accuracy" }));
    expect(await bestOf(scored)).toEqual({ best: [1], stored: [1, 4] });
  });

  it("never calls an evaluation best that is not finite, nor lets one block a later best", async () => {
    const found = await bestOf([Number.NaN, 2, Number.NEGATIVE_INFINITY, 1].map((loss) => ({ loss, perplexity: 1 })));
    expect(found).toEqual({ best: [2, 4], stored: [2, 4] });
  });

  it("stores no weights that are not finite, and says that training diverged", async () => {
    const diverging = bestOf([{ loss: 1, perplexity: 1 }], 1, Number.MAX_VALUE);
    await expect(diverging).rejects.toThrow("numbers of w are not finite");
  });

  it("refuses to train on no batch at all", async () => {
    await expect(bestOf([], 0)).rejects.toThrow("batches / count: expected a whole number from 1, got 0");
  });

  it("keeps to its minutes with evaluations, and where the machine becomes slower or faster", async () => {
    for (const pace of [() => 100, (i: number) => (i < 150 ? 100 : 200), (i: number) => (i < 100 ? 150 : 75)]) {
      const seconds = await secondsOf(pace);
      expect(seconds).toBeGreaterThan(55);
      expect(seconds).toBeLessThan(63);
    }
  });

  it("keeps to its minutes from a wrong guess on, and where updates become faster late", async () => {
    const late = (i: number) => (i < 300 ? 100 : 40);
    for (const expected of [100, 500, 5000]) {
      const totals: number[] = [];
      const how = { length: { minutes: 1, expected }, growUntil: 0.8, onTotal: (total: number) => totals.push(total) };
      const seconds = await secondsOf(late, how);
      expect([totals[0], totals.length > 2]).toEqual([expected, true]);
      expect(seconds).toBeGreaterThan(55);
      expect(seconds).toBeLessThan(63);
    }
  });

  it("goes on for the minutes that are left", async () => {
    let state: TrainState | undefined;
    await secondsOf(
      () => 100,
      { checkpointEvery: 150 },
      (event) => {
        if (event.type === "checkpoint" && event.step === 300) state = event.state;
      },
    );
    const spent = state!.progress.elapsedMs / 1000;
    const seconds = await secondsOf(() => 200, { resume: state! });
    expect(spent + seconds).toBeGreaterThan(55);
    expect(spent + seconds).toBeLessThan(63);
  });
});
