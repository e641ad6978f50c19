import { describe, expect, it } from "vitest";
import { parSchedule, polynomialSchedule, type ScheduleName, schedule, transformerSchedule } from "./schedule.ts";

const options = { rate: 0.1, warmup: 2, total: 10 };

describe("schedules", () => {
  it("warm up, then follow their shape down to the floor", () => {
    const rateAt = schedule("linear", { ...options, floor: 0.5 });
    expect([0, 1, 2, 6, 10].map(rateAt)).toEqual([0.05, 0.1, 0.1, expect.closeTo(0.075, 10), 0.05]);
  });

  it.each<[string, object, string]>([
    [
      "cosin",
      {},
      'schedule: expected one of constant, cosine, linear, inverse-sqrt, par-original, got "cosin"; did you mean cosine?',
    ],
    ["cosine", { rate: -1 }, "schedule cosine / rate: expected a number from 0, got -1"],
    ["cosine", { rate: Number.NaN }, "schedule cosine / rate: expected a number from 0, got NaN"],
    ["cosine", { floor: 2 }, "schedule cosine / floor: expected a number from 0 to 1, got 2"],
    ["linear", { warmUp: 3 }, "got warmUp; did you mean warmup?"],
    ["linear", { learningRate: 1 }, "got learningRate; did you mean rate?"],
    ["constant", { total: undefined }, "schedule constant / total: expected a number from 0, got nothing"],
    ["constant", { warmup: 11 }, "schedule: expected a warm-up of at most 10 steps, got 11"],
  ])("%s with %j is refused", (name, wrong, message) => {
    expect(() => schedule(name as ScheduleName, { ...options, ...wrong })).toThrow(message);
  });

  it("of the originals refuse what they do not know too", () => {
    expect(() => parSchedule({ ...options, rate: -1 })).toThrow("PAR schedule / rate: expected a number from 0");
    expect(() => polynomialSchedule({ ...options, power: -1 })).toThrow("polynomial schedule / power: expected");
    expect(() => transformerSchedule({ width: 8, warmup: 0 })).toThrow("expected a number above 0, got 0");
  });
});
