/** What candidates and whole PAR Transformer-XLs cost on this machine: forward milliseconds, measured in turns, beside FLOPs. */
import { median } from "../base/median.ts";
import type { Engine, Feed, Numbers, Program } from "../engine/engine.ts";
import { cost } from "../graph/index.ts";
import { candidateName } from "../model/par/candidates.ts";
import {
  type CandidateChoice,
  type ParModel,
  type ParOptions,
  parModel,
  type SegmentShape,
  usualWords,
} from "../model/par/par.ts";
import { initialise } from "../nn/index.ts";

/** Rows, tokens of a segment, steps of memory. */
export type LatencyShape = { readonly [K in keyof SegmentShape]-?: number };

/** What one candidate costs. */
export interface CandidateCost {
  readonly name: string;
  /** Of one segment, forward. */
  readonly flops: number;
  readonly ms: number;
}

/** Costs as they were measured once; plain data. */
export interface MeasuredCosts {
  readonly shape: LatencyShape;
  readonly threads: number;
  /** Embedding, last norm and softmax. */
  readonly rest: Omit<CandidateCost, "name">;
  readonly candidates: readonly CandidateCost[];
}

export { candidateName } from "../model/par/candidates.ts";

/** Copies of a candidate in the network that is timed: their share of the call's own cost is small. */
const COPIES = 4;
const WARM_UP = 3;
const baseline: readonly CandidateChoice[] = [{ kind: "attention" }, { kind: "feed-forward" }];

/** Measures every distinct candidate, those of the (sf)-baseline included, and the rest of the network. */
export async function measureCandidates(
  engine: Engine,
  options: ParOptions,
  shape: LatencyShape,
  rounds = 30,
): Promise<MeasuredCosts> {
  const { choices } = parModel(options);
  const distinct = new Map([...baseline, ...choices.flat()].map((choice) => [candidateName(choice), choice]));
  distinct.delete("identity");
  const stack = (choice: CandidateChoice, copies: number) =>
    parModel({
      ...options,
      alive: undefined,
      budget: undefined,
      blocks: Array.from({ length: copies }, () => [choice]),
    });
  const empty = stack({ kind: "identity" }, 1);
  const stacks = [...distinct].map(([name, choice]) => ({ name, model: stack(choice, COPIES) }));
  const [restMs, ...times] = await networkLatencies(
    engine,
    [empty, ...stacks.map(({ model }) => model)],
    shape,
    rounds,
  );
  const restFlops = networkFlops(empty, shape);
  const candidates = stacks.map(({ name, model }, i) => ({
    name,
    flops: (networkFlops(model, shape) - restFlops) / COPIES,
    ms: Math.max(0, (times[i]! - restMs!) / COPIES),
  }));
  const nothing = choices.flat().some(({ kind }) => kind === "identity") ? [{ name: "identity", flops: 0, ms: 0 }] : [];
  const rest = { flops: restFlops, ms: restMs! };
  return { shape, threads: engine.threads, rest, candidates: [...candidates, ...nothing] };
}

/** Milliseconds of a candidate, by measured costs. */
export function costOfCandidate({ candidates }: MeasuredCosts, choice: CandidateChoice): number {
  return candidates.find(({ name }) => name === candidateName(choice))!.ms;
}

/** What the (sf)-baseline of so many blocks costs in all, by measured costs. */
export function baselineCost(measured: MeasuredCosts, blocks: number): number {
  const each = Array.from({ length: blocks }, (_, i) => costOfCandidate(measured, baseline[i % 2]!));
  return each.reduce((a, b) => a + b, measured.rest.ms);
}

/** Median forward milliseconds of whole networks, run in turns so that the machine's moods meet all alike. */
export async function networkLatencies(
  engine: Engine,
  models: readonly ParModel[],
  shape: LatencyShape,
  rounds = 30,
): Promise<number[]> {
  const programs = [];
  try {
    for (const model of models) programs.push(await forwardProgram(engine, model, shape));
    const times: number[][] = models.map(() => []);
    for (let round = -WARM_UP; round < rounds; round++) {
      for (const [i, { program, feeds }] of programs.entries()) {
        const start = performance.now();
        await program.run(feeds);
        if (round >= 0) times[i]!.push(performance.now() - start);
      }
    }
    return times.map(median);
  } finally {
    for (const { program } of programs) await program.release();
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
