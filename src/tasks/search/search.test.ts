import { beforeAll, describe, expect, it } from "vitest";
import type { MeasuredCosts } from "../../analysis/latency.ts";
import type { Engine } from "../../engine/engine.ts";
import { ortEngine } from "../../engine/ort.ts";
import type { StateTensor, TrainState } from "../../train/events.ts";
import { openSearch, type SearchSession } from "./job.ts";
import { type Found, prepareSearch, search } from "./search.ts";
import type { SearchConfig } from "./settings.ts";

const tiny: Partial<SearchConfig> = {
  ...{ pieces: 300, width: 16, heads: 2, hidden: 32, blocks: 3, memory: 4, batch: 4, length: 8, cutoffs: [40, 120] },
  ...{ steps: 40, warmup: 4, evaluateEvery: 20, checkpointEvery: 1, evaluationBatch: 32, evaluationLength: 64 },
};
/** Large steps of π and a low threshold: blocks are decided within the forty updates. */
const hasty: Partial<SearchConfig> = { ...tiny, architectureRate: 0.2, cut: 0.7, cutEvery: 4 };

let engine: Engine;
beforeAll(async () => {
  engine = await ortEngine({ threads: 1 });
});

const copy = (tensors: ReadonlyMap<string, StateTensor>) =>
  new Map([...tensors].map(([name, { shape, data }]) => [name, { shape, data: data.slice() }]));

interface Trace {
  losses: Map<number, number>;
  /** Copies of all states, as a run folder would hold them. */
  states: TrainState[];
  told: string[];
  found: Found | undefined;
}

async function trace(session: SearchSession, resume?: TrainState, signal?: (step: number) => void): Promise<Trace> {
  const result: Trace = { losses: new Map(), states: [], told: [], found: undefined };
  const controller = new AbortController();
  const events = search(await prepareSearch(session), (text) => result.told.push(text), resume, {
    signal: controller.signal,
  });
  for (;;) {
    const { value, done } = await events.next();
    if (done) return { ...result, found: value };
    if (value.type === "step") {
      result.losses.set(value.step, value.loss);
      signal?.(value.step);
      if (signal && value.step === 10) controller.abort();
    }
    if (value.type === "checkpoint") {
      const progress = JSON.parse(JSON.stringify(value.state.progress));
      result.states.push({ progress, weights: copy(value.state.weights), moments: copy(value.state.moments) });
    }
  }
}

const aliveAt = ({ progress }: TrainState) => (progress.notes!.alive as number[][]).flat().length;

describe("a search that cuts", () => {
  it.each(["adamw", "muon"] as const)(
    "goes on from before, at and after its cuts to the same numbers, with %s",
    async (optimiser) => {
      const session = await openSearch({ ...hasty, optimiser }, engine);
      const whole = await trace(session);
      const first = whole.found!.cuts[0]!.step;
      expect(aliveAt(whole.states.at(-1)!)).toBeLessThan(9);
      for (const at of [first - 1, first, first + 1, 38]) {
        const state = whole.states.find(({ progress }) => progress.step === at)!;
        const rest = await trace(session, state);
        for (const [step, loss] of rest.losses) expect(loss).toBe(whole.losses.get(step));
        expect(rest.losses.size).toBe(40 - at);
        expect(rest.states.at(-1)!.weights).toEqual(whole.states.at(-1)!.weights);
        expect(rest.found!.cuts).toEqual(whole.found!.cuts);
      }
    },
  );

  it("keeps names, loses dead weights, and says so", async () => {
    const { states, found, told } = await trace(await openSearch(hasty, engine));
    const names = [...states.at(-1)!.weights.keys()];
    const first = new Set(states[0]!.weights.keys());
    expect(names.length).toBeLessThan(first.size);
    expect(names.every((name) => first.has(name))).toBe(true);
    expect(told.join("\n")).toMatch(/block \d loses .* keeps .*\n {2}a step took .* with 9 candidates/);
    expect(found!.probabilities.every((shares) => shares.length === 3)).toBe(true);
  });

  it("decides block by block at the pace it is given, and goes on from between to the same numbers", async () => {
    const session = await openSearch({ ...tiny, settle: [0.2, 0.8], cutEvery: 4 }, engine);
    const whole = await trace(session);
    expect(whole.found!.cuts.map(({ step, left }) => [step, left.length])).toEqual([16, 24, 32].map((at) => [at, 2]));
    expect(new Set(whole.found!.cuts.map(({ block }) => block)).size).toBe(3);
    const rest = await trace(session, whole.states.find(({ progress }) => progress.step === 20)!);
    expect(rest.states.at(-1)!.weights).toEqual(whole.states.at(-1)!.weights);
  });

  it("has opened each text once, however often it compiled", async () => {
    const opened: string[] = [];
    const session = await openSearch(hasty, engine);
    const { found } = await trace({
      ...session,
      batches: (split, memory) => {
        opened.push(split);
        return session.batches(split, memory);
      },
    });
    expect([found!.cuts.length > 0, opened]).toEqual([true, ["train", "valid"]]);
  });

  it("keeps everything where it is told to", async () => {
    const { states, found } = await trace(await openSearch({ ...hasty, cut: null }, engine));
    expect([aliveAt(states.at(-1)!), found!.cuts]).toEqual([9, []]);
  });
});

describe("a search with everything the model offers", () => {
  it("trains temperatures of its own, cuts them with their blocks, and goes on to the same numbers", async () => {
    const more = { trainedTemperature: true, adaptiveInput: true, clampLength: 6, sameLength: true };
    const session = await openSearch({ ...hasty, ...more, temperatureStart: 2 }, engine);
    const whole = await trace(session);
    const first = (state: TrainState) => state.weights.get("blocks.0.tau")?.data[0];
    expect(first(whole.states[0]!)).toBeCloseTo(Math.log(2), 0);
    expect(first(whole.states[2]!)).not.toBe(first(whole.states[0]!));
    expect(whole.states.at(-1)!.weights.size).toBeLessThan(whole.states[0]!.weights.size);
    const rest = await trace(session, whole.states.find(({ progress }) => progress.step === 20)!);
    expect(rest.states.at(-1)!.weights).toEqual(whole.states.at(-1)!.weights);
  });
});

describe("a search that is stopped", () => {
  it("leaves a state to go on from, and no result", async () => {
    const session = await openSearch({ ...tiny, checkpointEvery: 1000 }, engine);
    const { found, states, losses } = await trace(session, undefined, () => {});
    expect([found, losses.size, states.at(-1)!.progress.step]).toEqual([undefined, 10, 10]);
    const rest = await trace(session, states.at(-1)!);
    expect([rest.found!.steps, rest.losses.size]).toEqual([40, 30]);
  });

  it("leaves the architecture alone while it is frozen, and the weights not", async () => {
    const session = await openSearch({ ...tiny, freeze: 0.5, cut: null }, engine);
    const { states } = await trace(session);
    const at = (step: number) => states.find(({ progress }) => progress.step === step)!.weights;
    const choice = (step: number) => [...at(step).get("blocks.0.pi")!.data];
    expect(choice(20)).toEqual([0, 0, 0]);
    expect(choice(40)).not.toEqual([0, 0, 0]);
    expect(at(20).get("norm.weight")!.data).not.toEqual(at(1).get("norm.weight")!.data);
  });

  it("by turns still ends after three quarters of its stage without a change", async () => {
    const turns = { ...tiny, procedure: "alternate", freeze: 0, architectureRate: 0, evaluateEvery: 1000 } as const;
    const session = await openSearch(turns, engine);
    const whole = await trace(session);
    expect(whole.found!.steps).toBeLessThan(40);
    const middle = whole.states.find(({ progress }) => progress.step === 20)!;
    expect((await trace(session, middle)).found!.steps).toBe(whole.found!.steps);
    expect(whole.states.at(-1)!.progress.finished).toBe(true);
  });
});

describe("a budget", () => {
  const costs: MeasuredCosts = {
    ...{ shape: { batch: 1, length: 8, memory: 4 }, threads: 1, rest: { flops: 1, ms: 1 } },
    candidates: [
      { name: "attention", flops: 10, ms: 10 },
      { name: "feed-forward", flops: 2, ms: 2 },
      { name: "identity", flops: 0, ms: 0 },
    ],
  };

  it.each(["joint", "alternate"] as const)(
    "of little and great weight makes the network cheaper, %s",
    async (procedure) => {
      const settings = { ...tiny, procedure, freeze: 0, architectureRate: 0.1, cut: null, evaluateEvery: 40 };
      const free = await trace(await openSearch(settings, engine, { costs }));
      const tight = { ...settings, budget: "0.1", budgetWeight: 100 };
      const bound = await trace(await openSearch(tight, engine, { costs }));
      expect(bound.found!.latency!.expectedMs).toBeLessThan(free.found!.latency!.expectedMs - 2);
      expect(bound.found!.latency!.chosenMs).toBeLessThanOrEqual(free.found!.latency!.chosenMs);
      expect([bound.found!.targetMs!.toFixed(6), bound.found!.costs]).toEqual(["2.300000", costs]);
    },
  );

  it("is what blocks settle by: dense stays where attention is too dear, and a search goes on to the same numbers", async () => {
    const settings = { ...tiny, architectureRate: 0.1, settle: [0.2, 0.8] as [number, number], cutEvery: 4 };
    const session = await openSearch({ ...settings, budget: "0.7", budgetWeight: 0.001 }, engine, { costs });
    const whole = await trace(session);
    const settled = whole.found!.cuts.flatMap(({ left }) => left).filter((name) => name !== "identity");
    expect(settled.toSorted()).toEqual(["attention", "feed-forward", "feed-forward"]); // 15 of at most 16.1 ms
    const rest = await trace(session, whole.states.find(({ progress }) => progress.step === 20)!);
    expect(rest.states.at(-1)!.weights).toEqual(whole.states.at(-1)!.weights);
  });

  it.each([
    ["0", "budget: expected milliseconds above 0"],
    ["-1ms", "budget: expected milliseconds above 0"],
    ["cheap", 'or a fraction of the (sf)-baseline\'s latency, such as 0.65, got "cheap"'],
    [
      "0.9ms",
      "budget: expected at least 1.00 ms, the cheapest network here (the (sf)-baseline takes 23.0 ms), got 0.900 ms",
    ],
  ])("of %s is refused when the session is opened", async (budget, message) => {
    await expect(openSearch({ ...tiny, budget }, engine, { costs })).rejects.toThrow(message);
  });

  it("is refused where nothing is to be chosen", async () => {
    await expect(openSearch({ ...tiny, blocks: "sf", budget: "0.8" }, engine, { costs })).rejects.toThrow(
      "got a pattern",
    );
  });
});
