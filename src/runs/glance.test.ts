import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { encodeEvent, type StoredEvent } from "./event-log.ts";
import { glanceAt } from "./glance.ts";
import { summarise } from "./summary.ts";
import { EventTail, lookAtEvents } from "./tail.ts";

let run: string;
beforeEach(() => {
  run = mkdtempSync(join(tmpdir(), "layerwise-glance-"));
  writeFileSync(join(run, "config.yaml"), "task: language\nsteps: 3000\n");
});
afterEach(() => rmSync(run, { recursive: true }));

const step = (n: number): StoredEvent => ({
  type: "step",
  step: n,
  loss: 5 + Math.sin(n),
  learningRate: 0.001,
  gradientNorm: 1,
  tokensPerSecond: 1000 + n,
  epoch: n / 1000,
  timeMs: 1_700_000_000_000 + n,
});
const evaluation = (n: number): StoredEvent => ({
  type: "evaluation",
  step: n,
  split: "valid",
  loss: 4,
  perplexity: Math.exp(4),
  best: true,
  timeMs: 1_700_000_000_000 + n,
});
const file = () => join(run, "events.jsonl");
const write = (...events: StoredEvent[]) => appendFileSync(file(), events.map(encodeEvent).join(""));
const steps = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => step(from + i));

describe("a glance at a run", () => {
  it("says what a summary says, by a few looks", async () => {
    write(...steps(1, 2900), evaluation(2900), ...steps(2901, 3000));
    const [{ losses, tokensPerSecond, bytes: _, pattern: __, ...all }, glance] = [
      await summarise(run),
      await glanceAt(run),
    ];
    const { losses: few, tokensPerSecond: pace, parameters, startedMs, ...rest } = glance;
    expect(rest).toEqual({ ...all, best: null }); // only a checkpoint says where the best one is
    expect([few.length, few[0], few.at(-1)]).toEqual([24, losses[0], losses.at(-1)]);
    expect(Math.abs(pace! - tokensPerSecond!)).toBeLessThan(100);
    expect([parameters, startedMs]).toEqual([null, 1_700_000_000_001]);
  });

  it("finds the evaluations of a step anywhere in a long file", () => {
    write(...steps(1, 1234), evaluation(1234), ...steps(1235, 3000));
    expect(lookAtEvents(run, (events) => events.evaluationsAt(1234))).toMatchObject([{ type: "evaluation", loss: 4 }]);
    expect(lookAtEvents(run, (events) => events.evaluationsAt(1235))).toEqual([]);
  });

  it("reads runs without events", async () => {
    expect(await glanceAt(run)).toMatchObject({ step: 0, losses: [], lastLoss: null, status: "stopped" });
  });
});

describe("the tail of a run's events", () => {
  const read = (tail: EventTail) => {
    const seen: (number | "reset")[] = [];
    tail.read(
      (events) => seen.push(...events.map((event) => event.step)),
      () => seen.push("reset"),
    );
    return seen;
  };

  it("gives every event once, and half a line when it is whole", () => {
    const tail = new EventTail(run);
    expect(read(tail)).toEqual([]);
    write(step(1), step(2));
    appendFileSync(file(), encodeEvent(step(3)).slice(0, 40));
    expect(read(tail)).toEqual([1, 2]);
    appendFileSync(file(), encodeEvent(step(3)).slice(40));
    expect([read(tail), read(tail)]).toEqual([[3], []]);
  });

  it("begins again where a run was set back", () => {
    const tail = new EventTail(run);
    write(...steps(1, 5));
    read(tail);
    writeFileSync(`${file()}.new`, [step(1), step(2)].map(encodeEvent).join(""));
    renameSync(`${file()}.new`, file());
    write(step(3));
    expect(read(tail)).toEqual(["reset", 1, 2, 3]);
  });
});
