/** What candidates and whole PAR Transformer-XLs cost on this machine: forward milliseconds, measured in turns, beside FLOPs. */
import { median } from "../base/median.ts";
import { RandomStream } from "../base/random.ts";
import { printPattern } from "../depth/pattern.ts";
import type { Engine, Feed, Numbers, Program } from "../engine/engine.ts";
import { cost } from "../graph/index.ts";
import { candidateName, patternBlockOf } from "../model/par/candidates.ts";
import {
  type CandidateChoice,
  type ParModel,
  type ParOptions,
  parModel,
  type SegmentShape,
  usualWords,
} from "../model/par/par.ts";
import { initialise } from "../nn/index.ts";
import { fitNonNegative } from "./cost-fit.ts";

/** Rows, tokens of a segment, steps of memory. */
export type LatencyShape = { readonly [K in keyof SegmentShape]-?: number };

/** What one candidate costs. */
export interface CandidateCost {
  readonly name: string;
  /** Of one segment, forward. */
  readonly flops: number;
  readonly ms: number;
  /** In whole networks: the first of its kind, and each further one. Absent where an older version measured. */
  readonly firstMs?: number | undefined;
  readonly furtherMs?: number | undefined;
}

/** What the cost of a block or of the rest depends on. */
export type NetworkSizes = Pick<ParOptions, "vocabulary" | "width" | "heads" | "hidden" | "cutoffs">;

/** A whole network that was measured beside the candidates. */
export interface NetworkCost {
  readonly pattern: string;
  readonly ms: number;
  /** What the candidates' costs say of it. */
  readonly predictedMs: number;
}

/** Costs as they were measured once; plain data. */
export interface MeasuredCosts {
  readonly shape: LatencyShape;
  readonly threads: number;
  /** Embedding, last norm and softmax. */
  readonly rest: Pick<CandidateCost, "flops" | "ms"> & {
    /** In whole networks, beside first and further blocks. Absent where an older version measured. */
    readonly wholeMs?: number | undefined;
  };
  readonly candidates: readonly CandidateCost[];
  /** Sizes of the network whose blocks these are. Absent where an older version measured. */
  readonly sizes?: NetworkSizes | undefined;
  /** Whole networks from which the costs were fitted, too. Absent where an older version measured. */
  readonly networks?: readonly NetworkCost[] | undefined;
}

export { candidateName } from "../model/par/candidates.ts";

/** Copies of a candidate in the stack that is timed: as many as the network has blocks, within these. */
const COPIES = { from: 4, to: 12 };
const WARM_UP = 3;
const baseline: readonly CandidateChoice[] = [{ kind: "attention" }, { kind: "feed-forward" }];

/** Whole networks measured beside the stacks: in them blocks meet as they do in networks that are found. */
const MIXED = 14;

/** A network of choices that is timed. */
type Timed = readonly CandidateChoice[];

/**
 * Measures every distinct candidate, those of the (sf)-baseline included, and the rest of the network: in stacks of one candidate and
 * in whole networks of several, all in turns, from which costs are fitted that add up to what whole networks take.
 */
export async function measureCandidates(
  engine: Engine,
  options: ParOptions,
  shape: LatencyShape,
  rounds = 30,
): Promise<MeasuredCosts> {
  const { choices } = parModel(options);
  const distinct = new Map([...baseline, ...choices.flat()].map((choice) => [candidateName(choice), choice]));
  distinct.delete("identity");
  const empty: Timed = [{ kind: "identity" }];
  const copies = Math.max(COPIES.from, Math.min(COPIES.to, choices.length));
  const stacks = [...distinct.values()].map((choice): Timed => Array.from({ length: copies }, () => choice));
  const halves = stacks.map((stack): Timed => stack.slice(copies >> 1));
  const mixed = mixedNetworks(choices);
  const timed = [empty, ...stacks, ...halves, ...mixed];
  const models = timed.map((blocks) => {
    return parModel({ ...options, alive: undefined, budget: undefined, blocks: blocks.map((choice) => [choice]) });
  });
  const times = await networkLatencies(engine, models, shape, rounds, quietest);
  const flops = models.slice(0, 1 + stacks.length).map((model) => networkFlops(model, shape));
  const names = [...distinct.keys()];
  const fitted = fittedCosts(names, timed, times);
  const candidates = names.map((name, i) => {
    return { name, flops: (flops[i + 1]! - flops[0]!) / copies, ...fitted.candidates[i]! };
  });
  const nothing = choices.flat().some(({ kind }) => kind === "identity") ? [{ name: "identity", flops: 0, ms: 0 }] : [];
  const rest = { flops: flops[0]!, ...fitted.rest };
  const costs = { shape, threads: engine.threads, rest, candidates: [...candidates, ...nothing] };
  const networks = mixed.map((blocks, i) => ({
    pattern: printPattern(blocks.map(patternBlockOf)),
    ms: times[timed.length - mixed.length + i]!,
    predictedMs: costOfNetwork(costs, blocks),
  }));
  const { vocabulary, width, heads, hidden, cutoffs } = options;
  return { ...costs, sizes: { vocabulary, width, heads, hidden, cutoffs }, networks };
}

/** The baseline, and networks drawn from what blocks may be; none where nothing is left to choose. */
function mixedNetworks(choices: readonly (readonly CandidateChoice[])[]): Timed[] {
  if (choices.every(({ length }) => length === 1)) return [];
  const random = new RandomStream(1, "networks whose latency is measured");
  const drawn = Array.from({ length: MIXED - 1 }, () => choices.map((block) => block[random.integer(block.length)]!));
  return [choices.map((_, i) => baseline[i % 2]!), ...drawn];
}

/**
 * Least squares of relative errors, twice: the rest and each candidate, whose sum serves where blocks are judged one by one; and the
 * rest, the first of each candidate and further ones, which is nearer to what whole networks take: the first attention also makes the
 * positions that all share.
 */
function fittedCosts(names: readonly string[], timed: readonly Timed[], times: readonly number[]) {
  const rows = timed.map((blocks, i) => {
    const counts = countsOf(blocks);
    return { counts: names.map((name) => counts.get(name) ?? 0), value: times[i]! };
  });
  const [restMs, ...each] = fitNonNegative(
    rows.map(({ counts, value }) => ({ terms: [1, ...counts], value })),
  ).coefficients;
  const [wholeMs, ...parted] = fitNonNegative(
    rows.map(({ counts, value }) => {
      const first = counts.map((count) => Math.min(1, count));
      return { terms: [1, ...first, ...counts.map((count, k) => count - first[k]!)], value };
    }),
  ).coefficients;
  const candidates = names.map((_, k) => {
    return { ms: each[k]!, firstMs: parted[k]!, furtherMs: parted[names.length + k]! };
  });
  return { rest: { ms: restMs!, wholeMs: wholeMs! }, candidates };
}

/** How often each candidate stands in a network. */
function countsOf(blocks: Timed): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of blocks.map(candidateName)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** Milliseconds of a whole network, by measured costs. */
export function costOfNetwork(
  { rest, candidates }: Pick<MeasuredCosts, "rest" | "candidates">,
  blocks: readonly CandidateChoice[],
): number {
  const counts = countsOf(blocks);
  return candidates.reduce((total, { name, ms, firstMs = ms, furtherMs = ms }) => {
    const count = counts.get(name) ?? 0;
    return count === 0 ? total : total + firstMs + (count - 1) * furtherMs;
  }, wholeRest({ rest, candidates }));
}

/** Files of an older version have another split of whole networks, which is not read: there the sum of single costs serves. */
const wholeRest = ({ rest, candidates }: Pick<MeasuredCosts, "rest" | "candidates">) =>
  candidates.some(({ firstMs }) => firstMs !== undefined) ? (rest.wholeMs ?? rest.ms) : rest.ms;

/** Milliseconds of a candidate, by measured costs. */
export function costOfCandidate({ candidates }: MeasuredCosts, choice: CandidateChoice): number {
  return candidates.find(({ name }) => name === candidateName(choice))!.ms;
}

/** What the (sf)-baseline of so many blocks costs in all, by measured costs. */
export function baselineCost(measured: MeasuredCosts, blocks: number): number {
  const each = Array.from({ length: blocks }, (_, i) => costOfCandidate(measured, baseline[i % 2]!));
  return each.reduce((a, b) => a + b, measured.rest.ms);
}

/** The lower quartile: other work on the machine adds time, and never takes any away. */
export const quietest = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[times.length >> 2] ?? Number.NaN;

/** Forward milliseconds of whole networks, the medians unless told otherwise, run in turns so that the machine's moods meet all alike. */
export async function networkLatencies(
  engine: Engine,
  models: readonly ParModel[],
  shape: LatencyShape,
  rounds = 30,
  of: (times: readonly number[]) => number = median,
): Promise<number[]> {
  const programs = [];
  try {
    for (const model of models) programs.push(await forwardProgram(engine, model, shape));
    const runs = programs.map(
      ({ program, feeds }) =>
        () =>
          program.run(feeds),
    );
    return await timesInTurns(runs, rounds, of);
  } finally {
    for (const { program } of programs) await program.release();
  }
}

/** Milliseconds of each run: all take their turn in every round, and what a round did to all alike is taken out. */
export async function timesInTurns(
  runs: readonly (() => Promise<unknown>)[],
  rounds: number,
  of: (times: readonly number[]) => number,
): Promise<number[]> {
  const times: number[][] = runs.map(() => []);
  const least = 20 * clockStep();
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const [i, run] of runs.entries()) {
      const ms = await meanTime(run, least);
      if (round >= 0) times[i]!.push(ms);
    }
  }
  const { moods, evened } = withoutMoods(times);
  const level = of(moods);
  return evened.map((each) => level * of(each));
}

/**
 * The machine has faster and slower seconds: how much slower than usual each round was, by the middle of all runs, and the times as
 * they would have been in a usual round.
 */
export function withoutMoods(times: readonly (readonly number[])[]): { moods: number[]; evened: number[][] } {
  const usual = times.map(median);
  const moods = (times[0] ?? []).map((_, round) => middle(times.map((each, i) => each[round]! / usual[i]!)));
  return { moods, evened: times.map((each) => each.map((ms, round) => ms / moods[round]!)) };
}

/** Between the two in the middle, where there are two: neither of two networks is to set the mood alone. */
const middle = (values: readonly number[]) => (median(values) - median(values.map((value) => -value))) / 2;

/** What the clock tells apart, in milliseconds: 0.1 on pages that are not isolated, where a small network takes no time by it. */
function clockStep(): number {
  const start = performance.now();
  let now = start;
  while (now === start) now = performance.now();
  return now - start;
}

/** Milliseconds of a run: of one, or of as many as take so long together. */
async function meanTime(run: () => Promise<unknown>, leastMs: number): Promise<number> {
  const start = performance.now();
  for (let count = 1; ; count++) {
    await run();
    const elapsed = performance.now() - start;
    if (elapsed >= leastMs) return elapsed / count;
  }
}

/** Of one segment, forward. */
export function networkFlops(model: ParModel, shape: LatencyShape): number {
  const { outputs, sizes } = model.forward(shape);
  return cost(outputs, sizes).flops;
}

async function forwardProgram(
  engine: Engine,
  model: ParModel,
  shape: LatencyShape,
): Promise<{ program: Program; feeds: Record<string, Numbers | Feed> }> {
  const weights = initialise(model.parameters, 1);
  const named = model.forward(shape).outputs;
  const outputs = Object.fromEntries(named.map((tensor, i) => [i === 0 ? "loss" : `memory ${i}`, tensor]));
  const program = await engine.compile({ outputs, weights, takesTurns: true });
  const ids = usualWords(shape.batch * shape.length, model.options.vocabulary);
  const rows = Object.entries(model.rowsOf(ids)).map(([name, data]) => [name, { data, shape: [data.length] }] as const);
  const given: Record<string, Numbers | Feed> = {
    ids,
    targets: ids,
    missing: Int32Array.of(0),
    ...Object.fromEntries(rows),
  };
  const feeds = program.inputs.map(({ name, shape }) => {
    const size = shape.reduce<number>((a, dim) => a * Number(dim), 1);
    return [name, given[name] ?? new Float32Array(size).fill(0.5)] as const;
  });
  return { program, feeds: Object.fromEntries(feeds) };
}
