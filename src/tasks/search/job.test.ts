import { beforeAll, describe, expect, it } from "vitest";
import type { MeasuredCosts } from "../../analysis/latency.ts";
import type { Engine } from "../../engine/engine.ts";
import { ortEngine } from "../../engine/ort.ts";
import { initialise } from "../../nn/index.ts";
import type { TrainState } from "../../train/events.ts";
import { searchJob } from "./job.ts";
import { openSearch, type SearchGiven, type SearchParts } from "./parts.ts";
import type { SearchResult } from "./result.ts";
import { type SearchConfig, searchDefaults, searchSettings } from "./settings.ts";

const tiny: Partial<SearchConfig> = {
  ...{
    pieces: 300,
    width: 16,
    heads: 2,
    feedForward: 32,
    blocks: 3,
    memory: 4,
    batch: 4,
    length: 8,
    cutoffs: [40, 120],
  },
  ...{ steps: 40, warmup: 4, evaluateEvery: 20, checkpointEvery: 1, evaluationBatch: 32, evaluationLength: 64 },
  decide: null,
};
/** Large steps of π and a low threshold: blocks are decided within the forty updates. */
const hasty: Partial<SearchConfig> = { ...tiny, architectureRate: 0.2, cut: 0.7, cutEvery: 4 };

let engine: Engine;
beforeAll(async () => {
  engine = await ortEngine({ threads: 1 });
});

const opened = (settings: Partial<SearchConfig>, given: SearchGiven = {}) => openSearch(settings, { ...given, engine });

interface Trace {
  losses: Map<number, number>;
  /** All states, as a run folder would hold them. */
  states: TrainState[];
  told: string[];
  found: SearchResult;
}

/** Carries a search out, and stops it after a step where one is given. */
async function trace(parts: SearchParts, resume?: TrainState, last?: number): Promise<Trace> {
  const [losses, states, told] = [new Map<number, number>(), [] as TrainState[], [] as string[]];
  const controller = new AbortController();
  const events = searchJob(parts).events({ resume, signal: controller.signal });
  for (;;) {
    const { value, done } = await events.next();
    if (done) return { losses, states, told, found: value };
    if (value.type === "note") told.push(value.text);
    if (value.type === "checkpoint") states.push(stored(value.state));
    if (value.type !== "step") continue;
    losses.set(value.step, value.loss);
    if (value.step === last) controller.abort();
  }
}

const stored = ({ progress, ...tensors }: TrainState): TrainState => ({
  progress: JSON.parse(JSON.stringify(progress)),
  ...tensors,
});

const aliveAt = ({ progress }: TrainState) => (progress.notes!.alive as number[][]).flat().length;

describe("a search that cuts", () => {
  it.each(["adamw", "muon"] as const)(
    "goes on from before, at and after its cuts to the same numbers, with %s",
    async (optimiser) => {
      const parts = await opened({ ...hasty, optimiser });
      const whole = await trace(parts);
      const first = whole.found.cuts[0]!.step;
      expect(aliveAt(whole.states.at(-1)!)).toBeLessThan(9);
      for (const at of [first - 1, first, first + 1, 38]) {
        const state = whole.states.find(({ progress }) => progress.step === at)!;
        const rest = await trace(parts, state);
        for (const [step, loss] of rest.losses) expect(loss).toBe(whole.losses.get(step));
        expect(rest.losses.size).toBe(40 - at);
        expect(rest.states.at(-1)!.weights).toEqual(whole.states.at(-1)!.weights);
        expect(rest.found.cuts).toEqual(whole.found.cuts);
      }
    },
  );

  it("keeps names, loses dead weights, and says so", async () => {
    const { states, found, told } = await trace(await opened(hasty));
    const names = [...states.at(-1)!.weights.keys()];
    const first = new Set(states[0]!.weights.keys());
    expect(names.length).toBeLessThan(first.size);
    expect(names.every((name) => first.has(name))).toBe(true);
    expect(told.join("\n")).toMatch(/block \d loses .* keeps .*\n {2}a step took .* with 9 candidates/);
    expect(found.probabilities.every((shares) => shares.length === 3)).toBe(true);
  });

  it("decides block by block at the pace it is given, and goes on from between to the same numbers", async () => {
    const parts = await opened({ ...tiny, settle: [0.2, 0.8], cutEvery: 4 });
    const whole = await trace(parts);
    expect(whole.found.cuts.map(({ step, left }) => [step, left.length])).toEqual([16, 24, 32].map((at) => [at, 2]));
    expect(new Set(whole.found.cuts.map(({ block }) => block)).size).toBe(3);
    const rest = await trace(parts, whole.states.find(({ progress }) => progress.step === 20)!);
    expect(rest.states.at(-1)!.weights).toEqual(whole.states.at(-1)!.weights);
  });

  it("decides at the end what π has left open, says how open it was, and goes on to the same numbers", async () => {
    const parts = await opened({ ...tiny, settle: [0.2, 0.8], decide: 0.9, cutEvery: 4 });
    const whole = await trace(parts);
    const last = whole.found.cuts.filter(({ step }) => step === 36);
    expect(last.map(({ left }) => left.length)).toEqual([1, 1, 1]);
    for (const { openAt, margin } of last)
      expect([openAt! < 0.95, openAt! > 0.5, margin! > 0]).toEqual([true, true, true]);
    expect(whole.found.cuts.filter(({ step }) => step < 36).every(({ openAt }) => openAt === undefined)).toBe(true);
    expect(whole.found.probabilities.map((shares) => Math.max(...shares))).toEqual([1, 1, 1]);
    const rest = await trace(parts, whole.states.find(({ progress }) => progress.step === 34)!);
    expect(rest.states.at(-1)!.weights).toEqual(whole.states.at(-1)!.weights);
    expect(rest.found.cuts).toEqual(whole.found.cuts);
  });

  it("keeps everything where it is told to", async () => {
    const { states, found } = await trace(await opened({ ...hasty, cut: null }));
    expect([aliveAt(states.at(-1)!), found.cuts]).toEqual([9, []]);
  });
});

describe("a search with everything the model offers", () => {
  it("trains temperatures of its own, cuts them with their blocks, and goes on to the same numbers", async () => {
    const more = { trainedTemperature: true, adaptiveInput: true, clampLength: 6, sameLength: true };
    const parts = await opened({ ...hasty, ...more, freeze: 0, temperatureStart: 2 });
    const whole = await trace(parts);
    const first = (state: TrainState) => state.weights.get("blocks.0.tau")?.data[0];
    expect(first(whole.states[0]!)).toBeCloseTo(Math.log(2), 0);
    expect(first(whole.states[2]!)).not.toBe(first(whole.states[0]!));
    expect(whole.states.at(-1)!.weights.size).toBeLessThan(whole.states[0]!.weights.size);
    const rest = await trace(parts, whole.states.find(({ progress }) => progress.step === 20)!);
    expect(rest.states.at(-1)!.weights).toEqual(whole.states.at(-1)!.weights);
  });
});

describe("a search that is stopped", () => {
  it("leaves a state to go on from, and says in its result that it was stopped", async () => {
    const parts = await opened({ ...tiny, checkpointEvery: 1000 });
    const { found, states, losses } = await trace(parts, undefined, 10);
    expect([found.reason, losses.size, states.at(-1)!.progress.step]).toEqual(["stopped", 10, 10]);
    expect([found.perplexity, searchJob(parts).kept!(found)]).toEqual([Number.NaN, {}]);
    const rest = await trace(parts, states.at(-1)!);
    expect([rest.found.steps, rest.losses.size]).toEqual([40, 30]);
  });

  it("leaves the architecture alone while it is frozen, and the weights not", async () => {
    const parts = await opened({ ...tiny, freeze: 0.5, cut: null });
    const { states } = await trace(parts);
    const at = (step: number) => states.find(({ progress }) => progress.step === step)!.weights;
    const choice = (step: number) => [...at(step).get("blocks.0.pi")!.data];
    expect(choice(20)).toEqual([0, 0, 0]);
    expect(choice(40)).not.toEqual([0, 0, 0]);
    expect(at(20).get("norm.weight")!.data).not.toEqual(at(1).get("norm.weight")!.data);
  });

  it("by turns still ends after three quarters of its stage without a change", async () => {
    const turns = { ...tiny, procedure: "alternate", freeze: 0, architectureRate: 0, evaluateEvery: 1000 } as const;
    const parts = await opened(turns);
    const whole = await trace(parts);
    expect(whole.found.steps).toBeLessThan(40);
    const middle = whole.states.find(({ progress }) => progress.step === 20)!;
    expect((await trace(parts, middle)).found.steps).toBe(whole.found.steps);
    expect(whole.states.at(-1)!.progress.finished).toBe(true);
  });
});

describe("a budget", () => {
  const costs: MeasuredCosts = {
    ...{ shape: searchDefaults.latency, threads: 1, rest: { flops: 1, ms: 1 } },
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
      const free = await trace(await opened(settings, { costs }));
      const tight = { ...settings, budget: "0.1", budgetWeight: 100 };
      const bound = await trace(await opened(tight, { costs }));
      expect(bound.found.latency!.expectedMs).toBeLessThan(free.found.latency!.expectedMs - 2);
      expect(bound.found.latency!.chosenMs).toBeLessThanOrEqual(free.found.latency!.chosenMs);
      expect([bound.found.targetMs!.toFixed(6), bound.found.costs]).toEqual(["2.300000", costs]);
    },
  );

  it("is what blocks settle by: dense stays where attention is too dear, and a search goes on to the same numbers", async () => {
    const settings = { ...tiny, architectureRate: 0.1, settle: [0.2, 0.8] as [number, number], cutEvery: 4 };
    const parts = await opened({ ...settings, budget: "0.7", budgetWeight: 0.001 }, { costs });
    const whole = await trace(parts);
    const settled = whole.found.cuts.flatMap(({ left }) => left).filter((name) => name !== "identity");
    expect(settled.toSorted()).toEqual(["attention", "feed-forward", "feed-forward"]); // 15 of at most 16.1 ms
    const rest = await trace(parts, whole.states.find(({ progress }) => progress.step === 20)!);
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
    await expect(opened({ ...tiny, budget }, { costs })).rejects.toThrow(message);
  });

  it("is refused where nothing is to be chosen", async () => {
    await expect(opened({ ...tiny, blocks: "sf", budget: "0.8" }, { costs })).rejects.toThrow("got a pattern");
  });
});

describe("a search in parts of a batch", () => {
  const noisy: Partial<SearchConfig> = {
    ...tiny,
    steps: 12,
    dropout: 0.2,
    attentionDropout: 0.2,
    cut: null,
    settle: null,
  };
  const inTwo = { ...noisy, batch: 4, accumulate: 2 };

  it.each([{ clipNorm: 0.5 }, { clipNorm: null, clipValue: 0.002 }])(
    "makes the updates of one batch of twice the rows: memory, noise and clipping (%o)",
    async (clipping) => {
      const whole = await trace(await opened({ ...noisy, ...clipping, batch: 8 }));
      const halves = await trace(await opened({ ...inTwo, ...clipping }));
      expect(halves.losses.size).toBe(12);
      // Sums in another order: float32 rounding, grown over twelve updates.
      for (const [step, loss] of halves.losses) expect(Math.abs(loss - whole.losses.get(step)!)).toBeLessThan(2e-5);
      const [last, other] = [halves, whole].map(({ states }) => states.at(-1)!);
      const memory = last!.moments.get("carried memory.1")!;
      expect(memory.shape).toEqual([8, 4, 16]);
      expect(memory.shape).toEqual(other!.moments.get("carried memory.1")!.shape);
    },
  );

  it("is another training than batches of half the rows", async () => {
    const [halves, half] = [await trace(await opened(inTwo)), await trace(await opened({ ...noisy, batch: 4 }))];
    expect(halves.losses.get(1)).not.toBeCloseTo(half.losses.get(1)!, 4);
  });

  it("goes on exactly from before and after a cut", async () => {
    const parts = await opened({ ...hasty, dropout: 0.1, accumulate: 2 });
    const whole = await trace(parts);
    const { step: cut } = whole.found.cuts[0]!;
    for (const at of [cut - 1, cut + 1]) {
      const rest = await trace(
        parts,
        whole.states.find(({ progress }) => progress.step === at),
      );
      for (const [step, loss] of rest.losses) expect(loss).toBe(whole.losses.get(step));
      expect(rest.states.at(-1)!.weights).toEqual(whole.states.at(-1)!.weights);
    }
  });
});

describe("optimisers of a search", () => {
  it.each(["adam", "lamb", "sgd"] as const)("%s trains weights and π, and goes on exactly", async (optimiser) => {
    const parts = await opened({ ...hasty, steps: 20, optimiser, ...(optimiser === "sgd" ? { rate: 0.05 } : {}) });
    const whole = await trace(parts);
    const first = parts.model.probabilities(initialise(parts.model.parameters, 1));
    expect(whole.found.probabilities).not.toEqual(first);
    expect(whole.losses.get(20)).toBeLessThan(whole.losses.get(1)!);
    const rest = await trace(
      parts,
      whole.states.find(({ progress }) => progress.step === 13),
    );
    for (const [step, loss] of rest.losses) expect(loss).toBe(whole.losses.get(step));
  });

  it("sgd has a rate of its own where none is given", () => {
    const rateOf = (values: Partial<SearchConfig>) => searchSettings.resolve([{ source: "f", values }]).rate;
    expect([rateOf({}), rateOf({ optimiser: "sgd" }), rateOf({ optimiser: "sgd", rate: 0.1 })]).toEqual([
      0.004, 0.05, 0.1,
    ]);
  });
});

describe("an evaluation with noise", () => {
  it("is that of the present temperature, while the result has both", async () => {
    const settings = { ...tiny, cut: null, settle: null, freeze: 0, architectureRate: 0.1 };
    const evaluations = async (noisyEvaluation: boolean) => {
      const { states, found } = await trace(await opened({ ...settings, noisyEvaluation }));
      return { best: states.at(-1)!.progress.best!.loss, found };
    };
    const [noisy, plain] = [await evaluations(true), await evaluations(false)];
    expect(noisy.found.perplexity).toBe(plain.found.perplexity);
    expect(noisy.found.noisyMeanBatchPerplexity).toBe(plain.found.noisyMeanBatchPerplexity);
    expect(noisy.best).not.toBe(plain.best);
  });
});
