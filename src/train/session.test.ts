import { describe, expect, it } from "vitest";
import { startSession } from "./session.ts";

/** Counts to ten, or until it is to stop; `log` says what ran. */
function counting(log: string[] = [], failAt = Number.POSITIVE_INFINITY) {
  return startSession(async function* (signal) {
    let i = 0;
    for (; i < 10 && !signal.aborted; i++) {
      if (i === failAt) throw new Error("fell over");
      log.push(`step ${i}`);
      yield i;
    }
    log.push("stored");
    return { counted: i, reason: signal.aborted ? "stopped" : "finished" };
  });
}

describe("a session", () => {
  it("does nothing before it is driven", async () => {
    const log: string[] = [];
    const { result } = counting(log);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(log).toEqual([]);
    expect(result).toBeInstanceOf(Object);
  });

  it("runs when its result is awaited", async () => {
    expect(await counting().result).toEqual({ counted: 10, reason: "finished" });
  });

  it("runs when it is iterated, and has its result then", async () => {
    const session = counting();
    const seen: number[] = [];
    for await (const i of session) seen.push(i);
    expect(seen).toHaveLength(10);
    expect((await session.result).counted).toBe(10);
  });

  it("stops in good order when the loop is left", async () => {
    const log: string[] = [];
    const session = counting(log);
    for await (const i of session) if (i === 2) break;
    expect(log.at(-1)).toBe("stored");
    expect(await session.result).toEqual({ counted: 3, reason: "stopped" });
  });

  it("stops at a signal from outside", async () => {
    const controller = new AbortController();
    const session = startSession(async function* (signal) {
      for (let i = 0; !signal.aborted; i++) yield i;
      return "stopped";
    }, controller.signal);
    for await (const i of session) if (i === 3) controller.abort();
    expect(await session.result).toBe("stopped");
  });

  it("throws where it is iterated, and rejects its result without an unhandled rejection", async () => {
    const session = counting([], 1);
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on("unhandledRejection", note);
    await expect(async () => {
      for await (const _ of session);
    }).rejects.toThrow("fell over");
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
    await expect(session.result).rejects.toThrow("fell over");
  });

  it("refuses a second driver", async () => {
    const session = counting();
    await session.result;
    expect(() => session[Symbol.asyncIterator]()).toThrow("session: expected one driver, got a second");
  });
});
