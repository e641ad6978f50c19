import { describe, expect, it } from "vitest";
import { alternation, Settled } from "./phases.ts";

const steps = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

describe("alternation", () => {
  it("leaves the architecture alone at first, then gives it the end of every turn", () => {
    const { architecture, weights } = alternation({ freeze: 3, period: 5 });
    const turns = steps(13).map((step) => (architecture(step) ? "a" : "w"));
    expect(turns.join("")).toBe("wwwwwwwawwwwa");
    expect(steps(13).every((step) => weights(step) !== architecture(step))).toBe(true);
  });

  it("gives each at least one update a turn", () => {
    const { architecture } = alternation({ freeze: 0, period: 2, share: 0.9 });
    expect(steps(4).map(architecture)).toEqual([false, true, false, true]);
  });

  it("refuses what is no alternation", () => {
    expect(() => alternation({ freeze: 0, period: 1 })).toThrow("got freeze 0, period 1, share 0.2");
    expect(() => alternation({ freeze: 0, period: 5, share: 1 })).toThrow("a share between 0 and 1");
  });
});

describe("a choice", () => {
  it("is settled when it has stood for three quarters of the stage", () => {
    const settled = new Settled({ from: 10, total: 30 });
    const seen = steps(30).map((step) => settled.see(step, step < 14 ? "sf" : "ff"));
    expect(seen.indexOf(true) + 1).toBe(14 + 15);
  });

  it("does not count what it stood before the stage", () => {
    const settled = new Settled({ from: 10, total: 30 });
    expect(steps(24).some((step) => settled.see(step, "sf"))).toBe(false);
    expect(settled.see(25, "sf")).toBe(true);
  });

  it("stands as long after a break as without one", () => {
    const before = new Settled({ from: 10, total: 30 });
    for (const step of steps(18)) before.see(step, step < 14 ? "sf" : "ff");
    const after = new Settled({ from: 10, total: 30 }, structuredClone(before.standing));
    expect([19, 28, 29].map((step) => after.see(step, "ff"))).toEqual([false, false, true]);
  });
});
