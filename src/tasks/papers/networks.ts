/** Networks that were trained, measured side by side: what they store and compute, and how long they take. */
import { type LatencyShape, networkFlops, networkLatencies } from "../../analysis/latency.ts";
import { parsePattern } from "../../depth/pattern.ts";
import type { Engine } from "../../engine/engine.ts";
import { countParameters } from "../../model/report.ts";
import { lastModel } from "../search/stored.ts";

/** What is counted and timed of a network. */
export interface MeasuredNetwork {
  readonly pattern: string;
  readonly parameters: number;
  /** Blocks that run: all but identity. */
  readonly executedDepth: number;
  /** Forward, at the shape of the latency. */
  readonly flopsPerToken: number;
  /** Forward milliseconds of a segment, one figure per repetition. */
  readonly latenciesMs: readonly number[];
}

/** Measures the networks of these runs in turns, so often. */
export async function measureNetworks(
  engine: Engine,
  runs: Readonly<Record<string, string>>,
  shape: LatencyShape,
  repetitions: number,
): Promise<MeasuredNetwork[]> {
  const patterns = Object.keys(runs);
  const models = [];
  for (const run of Object.values(runs)) models.push((await lastModel(run)).model);
  const times: number[][] = [];
  for (let i = 0; i < repetitions; i++) times.push(await networkLatencies(engine, models, shape));
  return models.map((model, i) => ({
    pattern: patterns[i]!,
    parameters: countParameters(model.parameters),
    executedDepth: parsePattern(patterns[i]!).filter((kind) => kind !== "identity").length,
    flopsPerToken: networkFlops(model, shape) / (shape.batch * shape.length),
    latenciesMs: times.map((each) => each[i]!),
  }));
}
