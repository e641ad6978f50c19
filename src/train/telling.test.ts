import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Tell } from "./telling.ts";
import { telling } from "./telling.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** Batches of so many milliseconds each. */
async function work(tell: Tell, ms: number): Promise<string> {
  for (let i = 0; i < 10; i++) {
    tell(i, 10);
    vi.advanceTimersByTime(ms);
    await Promise.resolve();
  }
  return "figures";
}

async function told(ms: number): Promise<[number[], string]> {
  const events = telling(7, (tell) => work(tell, ms));
  const done: number[] = [];
  for (;;) {
    const next = await events.next();
    if (next.done) return [done, next.value];
    expect(next.value).toMatchObject({ type: "evaluating", step: 7, count: 10 });
    done.push(next.value.done);
  }
}

describe("an evaluation", () => {
  it("says nothing while it is short", async () => {
    expect(await told(50)).toEqual([[], "figures"]);
  });

  it("tells how far it is after a second", async () => {
    const [done, figures] = await told(300);
    expect([done.length > 1, done[0]! > 3, done.at(-1)! < 10, figures]).toEqual([true, true, true, "figures"]);
  });

  it("has ended when whoever watches leaves", async () => {
    let ended = false;
    const events = telling(1, async (tell) => {
      const figures = await work(tell, 2000);
      ended = true;
      return figures;
    });
    for await (const { done } of events) if (done > 0) break;
    expect(ended).toBe(true);
  });

  it("fails as its work does", async () => {
    const events = telling(1, async () => {
      throw new Error("no memory");
    });
    await expect(events.next()).rejects.toThrow("no memory");
  });
});
