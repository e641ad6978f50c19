/** Two networks side by side: what they store, compute, take and predict; the found one and the (sf)-baseline. */

import { type LatencyShape, networkFlops, networkLatencies } from "../../analysis/latency.ts";
import { formatNumber, table } from "../../base/table.ts";
import { parsePattern } from "../../depth/pattern.ts";
import type { Engine } from "../../engine/engine.ts";
import { countParameters } from "../../model/report.ts";
import type { EndReason } from "../../train/events.ts";
import type { ParNetwork } from "./network.ts";

/** What a network is compared by. */
export interface NetworkFigures {
  readonly name: "found" | "baseline";
  /** Its run folder, where it has one. */
  readonly run: string | null;
  readonly pattern: string;
  readonly parameters: number;
  /** Blocks that run: all but identity. */
  readonly executedDepth: number;
  /** Forward, at the shape of the latency. */
  readonly flopsPerToken: number;
  /** Measured in turns with the other network; NaN where training was stopped. */
  readonly latencyMs: number;
  readonly perplexity: number;
  readonly meanBatchPerplexity: number;
}

/** A trained network with its figures. */
export interface RetrainedNetwork extends NetworkFigures, ParNetwork {}

const compared = ["parameters", "flopsPerToken", "latencyMs", "perplexity"] as const;

/** The found network's figures divided by the baseline's. */
export type Ratios = Readonly<Record<(typeof compared)[number], number>>;

/** What retraining ends with; everything in it is a copy. */
export interface RetrainResult {
  readonly reason: EndReason;
  readonly network: RetrainedNetwork;
  /** Null where there is none, or none yet. */
  readonly baseline: RetrainedNetwork | null;
  readonly ratios: Ratios | null;
  readonly latency: LatencyShape & { readonly threads: number };
}

/** A network that was trained, before it is compared. */
export interface Contender extends ParNetwork, Pick<NetworkFigures, "pattern" | "perplexity" | "meanBatchPerplexity"> {
  readonly run: string | null;
}

/** Counts what is counted; latency is to be measured. */
function described(name: NetworkFigures["name"], network: Contender, shape: LatencyShape): RetrainedNetwork {
  const { run, pattern, perplexity, meanBatchPerplexity, model, weights, tokenizer, ranks } = network;
  return {
    name,
    run,
    pattern,
    parameters: countParameters(model.parameters),
    executedDepth: parsePattern(pattern).filter((kind) => kind !== "identity").length,
    flopsPerToken: networkFlops(model, shape) / (shape.batch * shape.length),
    latencyMs: Number.NaN,
    perplexity,
    meanBatchPerplexity,
    model,
    weights,
    tokenizer,
    ranks,
  };
}

/** A result without a comparison: training was stopped. */
export function stoppedResult(found: Contender, shape: LatencyShape, engine: Engine): RetrainResult {
  const latency = { ...shape, threads: engine.threads };
  return { reason: "stopped", network: described("found", found, shape), baseline: null, ratios: null, latency };
}

/** Measures the networks in turns, and compares them. */
export async function compareNetworks(
  found: Contender,
  rival: Contender | undefined,
  { shape, engine, reason }: { shape: LatencyShape; engine: Engine; reason: EndReason },
): Promise<RetrainResult> {
  const models = [found, ...(rival ? [rival] : [])].map(({ model }) => model);
  const [foundMs, rivalMs] = await networkLatencies(engine, models, shape);
  const network = { ...described("found", found, shape), latencyMs: foundMs! };
  const baseline = rival ? { ...described("baseline", rival, shape), latencyMs: rivalMs! } : null;
  const latency = { ...shape, threads: engine.threads };
  return { reason, network, baseline, ratios: baseline && ratiosOf(network, baseline), latency };
}

function ratiosOf(network: NetworkFigures, baseline: NetworkFigures): Ratios {
  const ratios = compared.map((key) => [key, network[key] / baseline[key]] as const);
  return Object.fromEntries(ratios) as Ratios;
}

function figuresOf({ model, weights, tokenizer, ranks, ...figures }: RetrainedNetwork): NetworkFigures {
  return figures;
}

/** The plain data of a result, as retrain.json holds it. */
export function retrainData({ network, baseline, ratios, latency }: RetrainResult): {
  run: string | null;
  networks: readonly NetworkFigures[];
  ratios: Ratios | null;
  latency: RetrainResult["latency"];
} {
  const networks = [network, ...(baseline ? [baseline] : [])].map(figuresOf);
  return { run: network.run, networks, ratios, latency };
}

/** Both networks as a table, what the one is of the other, and how they were measured. */
export function comparisonText({ network, baseline, ratios, latency }: RetrainResult): string {
  const rows = [network, ...(baseline ? [baseline] : [])].map((each) => ({
    network: each.name,
    pattern: each.pattern,
    "distinct parameters": `${formatNumber(each.parameters / 1e6, 3)} M`,
    "executed depth": each.executedDepth,
    "FLOPs per token": `${formatNumber(each.flopsPerToken / 1e6, 2)} M`,
    latency: `${formatNumber(each.latencyMs, 2)} ms`,
    "valid perplexity": formatNumber(each.perplexity, 2),
  }));
  const ratio = ratios && {
    network: "ratio",
    pattern: "",
    "distinct parameters": ratios.parameters.toFixed(3),
    "executed depth": null,
    "FLOPs per token": ratios.flopsPerToken.toFixed(3),
    latency: ratios.latencyMs.toFixed(3),
    "valid perplexity": ratios.perplexity.toFixed(3),
  };
  const { batch, length, memory, threads } = latency;
  const where = `FLOPs and latency forward, batch ${batch} × ${length}, memory ${memory}, ${threads} thread${threads === 1 ? "" : "s"}, in turns`;
  return `${table([...rows, ...(ratio ? [ratio] : [])]).trimEnd()}\n${where}`;
}
