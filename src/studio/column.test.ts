import { describe, expect, it } from "vitest";
import { Column, extremes } from "./column.ts";

const filled = (steps: number, value = (step: number) => Math.sin(step)) => {
  const column = new Column();
  for (let step = 1; step <= steps; step++) column.put({ step, minutes: step / 60, n: step }, value(step));
  return column;
};

describe("a metric in memory", () => {
  it("keeps runs of 30,000 steps whole", () => {
    const { x, y } = filled(30_000).over("step", 1, { points: 40_000 });
    expect([x.length, y[29_999]]).toEqual([30_000, Math.sin(30_000)]);
  });

  it("does not grow without end, and keeps every peak of a million steps where it was", () => {
    const column = filled(1_000_000, (step) => (step % 100_000 === 777 ? 50 + step : 1));
    expect(column.length).toBeLessThanOrEqual(1 << 15);
    const { x, y } = column.over("step", 1, { points: 1 << 15 });
    const peaks = x.filter((_, i) => y[i]! > 1);
    expect(peaks).toEqual(Array.from({ length: 10 }, (_, i) => i * 100_000 + 777));
  });

  it("thins early and late steps alike", () => {
    const { x } = filled(1_000_000).over("step", 1, { points: 1 << 15 });
    const [early, late] = [x.filter((step) => step <= 100_000), x.filter((step) => step > 400_000 && step <= 500_000)];
    expect(early.length).toBeGreaterThan(500);
    expect(early.length / late.length).toBeGreaterThan(0.6);
    expect(early.length / late.length).toBeLessThan(1.7);
  });

  it("answers over tokens and minutes, between two places, and what came after so many events", () => {
    const column = filled(100, (step) => step);
    expect(column.over("tokens", 64, { points: 10, from: 640, to: 768 })).toEqual({
      x: [640, 704, 768],
      y: [10, 11, 12],
    });
    expect(column.over("minutes", 0, { points: 10, to: 0.05 }).y).toEqual([1, 2, 3]);
    expect(column.over("step", 0, { points: 10, seen: 98 }).x).toEqual([99, 100]);
  });

  it("says what is no number as null, and never thins it away", () => {
    const { x, y } = filled(1000, (step) => (step === 500 ? Number.NaN : step)).over("step", 1, { points: 20 });
    expect(y[x.indexOf(500)]).toBeNull();
    expect(extremes([3, 1, 2, Number.NaN], 0, 4, 2)).toEqual([0, 1, 3]);
  });
});
