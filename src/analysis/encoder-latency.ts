/** What the blocks of an encoder cost on this machine: forward milliseconds of stacks, measured in turns, beside FLOPs. */
import { type Engine, feedsFor, type Program } from "../engine/engine.ts";
import { cost } from "../graph/index.ts";
import type { Albert, AlbertOptions } from "../model/albert/albert.ts";
import { blockEncoder } from "../model/albert/block-encoder.ts";
import { albertProgram } from "../model/albert/export.ts";
import { candidateName } from "../model/par/candidates.ts";
import { type CandidateChoice, usualWords } from "../model/par/par.ts";
import { initialise } from "../nn/index.ts";
import { type MeasuredCosts, quietest, timesInTurns } from "./latency.ts";

/** Texts and tokens of each. */
export interface EncoderShape {
  readonly batch: number;
  readonly length: number;
}

/** Copies of a candidate in the stack that is timed. */
const COPIES = 6;
const ROUNDS = 30;
const baseline: readonly CandidateChoice[] = [{ kind: "attention" }, { kind: "feed-forward" }];

/** Measures every candidate of an encoder's blocks, those of the (sf)-baseline included, and the rest: embeddings, last norm, pooler. */
export async function measureEncoder(
  engine: Engine,
  { searched = {}, ...options }: AlbertOptions,
  shape: EncoderShape,
): Promise<MeasuredCosts> {
  const free = { ...options, searched: { ...searched, alive: undefined, budget: undefined } };
  const { choices } = blockEncoder(free).blocks!;
  const distinct = new Map([...baseline, ...choices.flat()].map((choice) => [candidateName(choice), choice]));
  distinct.delete("identity");
  const stack = (choice: CandidateChoice, blocks: number) =>
    blockEncoder({ ...options, blocks, searched: { candidates: [choice] } });
  const models = [stack({ kind: "identity" }, 1), ...[...distinct.values()].map((each) => stack(each, COPIES))];
  const times = await forwardTimes(engine, models, shape);
  const flops = models.map((model) => flopsOf(model, shape));
  const each = (of: readonly number[], i: number) => Math.max(0, (of[i + 1]! - of[0]!) / COPIES);
  const candidates = [...distinct.keys()].map((name, i) => ({ name, flops: each(flops, i), ms: each(times, i) }));
  return {
    shape: { ...shape, memory: 0 },
    threads: engine.threads,
    rest: { flops: flops[0]!, ms: times[0]! },
    candidates: [...candidates, { name: "identity", flops: 0, ms: 0 }],
  };
}

/** The lower quartile of each, run in turns so that the machine's moods meet all alike. */
async function forwardTimes(engine: Engine, models: readonly Albert[], shape: EncoderShape): Promise<number[]> {
  const programs: Program[] = [];
  try {
    for (const model of models) {
      const source = albertProgram(model, initialise(model.parameters, 1));
      programs.push(await engine.compile({ ...source, takesTurns: true }));
    }
    const size = [shape.batch, shape.length];
    const ids = { data: usualWords(shape.batch * shape.length, models[0]!.options.vocabulary), shape: size };
    const ones = { data: new Int32Array(ids.data.length).fill(1), shape: size };
    const feeds = { ids, mask: ones, types: { data: new Int32Array(ids.data.length), shape: size } };
    const runs = programs.map((program) => () => program.run(feedsFor(program, feeds)));
    return await timesInTurns(runs, ROUNDS, quietest);
  } finally {
    for (const program of programs) await program.release();
  }
}

/** Of some texts, forward. */
export function flopsOf(model: Albert, { batch, length }: EncoderShape): number {
  const { outputs } = albertProgram(model, new Map());
  return cost(
    Object.values(outputs),
    new Map([
      ["B", batch],
      ["T", length],
    ]),
  ).flops;
}
