/** A search for the front: trains a supernet by paths, ranks its networks on held-out text, picks one for the budget. */
import { costOfNetwork, networkLatencies, quietest } from "../../../analysis/latency.ts";
import { printPattern } from "../../../depth/pattern.ts";
import { patternBlockOf } from "../../../model/par/candidates.ts";
import { foundNetwork } from "../../../model/par/found.ts";
import { parModel } from "../../../model/par/par.ts";
import { countParameters } from "../../../model/report.ts";
import { tokensIn } from "../../../train/evaluate.ts";
import type { TrainEvent } from "../../../train/events.ts";
import type { Path } from "../../../train/path-program.ts";
import { trainStages } from "../../../train/stages.ts";
import { loopOptions } from "../../../train/train.ts";
import type { NoteEvent, Start } from "../../job.ts";
import { costTable, targetOf } from "../budget.ts";
import type { SearchParts } from "../parts.ts";
import { type Choice, type Ending, figuresOf, type LatencyCheck, resultOf, type SearchResult } from "../result.ts";
import { loopLength } from "../settings.ts";
import { trainOptions } from "../stage.ts";
import { baselineMsOf, cheapestComputing, costOfPath, mayBeRanked } from "./costs.ts";
import { type Front, type FrontNetwork, frontTable, pickWithin } from "./front.ts";
import { smallestPath } from "./limits.ts";
import { patternOfPath, type Ranked, regularPaths, turnsOf } from "./paths.ts";
import { rankNetworks } from "./ranking.ts";
import { FINE, openPathStage, openRanking } from "./stage.ts";

type Events = AsyncGenerator<TrainEvent | NoteEvent, SearchResult, void>;

const note = (text: string): NoteEvent => ({ type: "note", text });

/** Trains the supernet and finds the front. */
export async function* searchingFront(parts: SearchParts, { resume, signal }: Start): Events {
  if (!resume) yield note(costTable(parts.costs!, parts.model.choices));
  const length = loopLength(parts.settings, parts.course.total);
  const loop = { ...loopOptions({ ...trainOptions(parts), resume, signal }), length };
  const { end, weights } = yield* trainStages({ ...loop, open: async () => ({ stage: await openPathStage(parts) }) });
  const { reason, step: steps, elapsedMs } = end;
  return yield* rankedResult(
    parts,
    { model: parts.model, weights, reason, steps, elapsedMs, cuts: [], evaluation: undefined },
    signal,
  );
}

/** Ranks the networks of a supernet that was trained to its end. */
export async function* rankedResult(parts: SearchParts, ending: Ending, signal?: AbortSignal): Events {
  if (ending.reason === "stopped") return stoppedResult(parts, ending);
  const began = performance.now();
  let front: Front;
  try {
    front = yield* frontOf(parts, ending, signal);
  } catch (error) {
    // Stopped while it was ranking: resuming ranks again.
    if (signal?.aborted) return stoppedResult(parts, { ...ending, reason: "stopped" });
    throw error;
  }
  yield note(frontTable(front));
  const latencyCheck = await checkedLatency(parts, front);
  yield note(checkLine(latencyCheck));
  const network = foundNetwork(parts.model, ending.weights, front.chosen);
  const elapsedMs = ending.elapsedMs + (performance.now() - began);
  const figures = await figuresOf(parts, { ...ending, ...network });
  return resultOf(parts, { ...ending, elapsedMs }, figures, { ...choiceOf(parts, front), latencyCheck, front });
}

/** Where there is no front yet: the network of candidates by turns. */
async function stoppedResult(parts: SearchParts, ending: Ending): Promise<SearchResult> {
  const { choices } = parts.model;
  const choice = chosen(parts, patternOfPath(choices, turnsOf(choices)), null);
  return resultOf(parts, ending, await figuresOf(parts, ending), choice);
}

/** What a result says of a front. */
export const choiceOf = (parts: SearchParts, front: Front): Choice => ({
  ...chosen(parts, front.chosen, front.targetMs),
  front,
});

function chosen({ model, costs }: SearchParts, pattern: string, targetMs: number | null): Choice {
  const blocks = parModel({ ...model.options, budget: undefined, blocks: pattern }).choices.map(([choice]) => choice!);
  const ms = costOfNetwork(costs!, blocks);
  const names = blocks.map((choice) => printPattern([patternBlockOf(choice)]));
  const probabilities = model.choices.map((block, i) =>
    block.map((choice) => Number(printPattern([patternBlockOf(choice)]) === names[i])),
  );
  return { pattern, probabilities, latency: { expectedMs: ms, chosenMs: ms }, targetMs };
}

async function* frontOf(
  parts: SearchParts,
  { weights }: Ending,
  signal: AbortSignal | undefined,
): AsyncGenerator<NoteEvent, Front, void> {
  const { model, settings, batches } = parts;
  const evaluator = await openRanking(parts, weights);
  const count = Math.min(batches.valid.count, settings.rankBatches);
  const fineCount = Math.min(batches.valid.count, FINE * count);
  try {
    const ranking = rankNetworks({
      choices: model.choices,
      seed: settings.seed,
      networks: settings.networks,
      costOf: (path) => costOfPath(parts, path),
      fits: (path) => mayBeRanked(parts, path),
      first: [turnsOf(model.choices), smallestPath(parts)].filter((path) => mayBeRanked(parts, path)),
      losses: (paths, fine) => evaluator.losses(paths, fine ? fineCount : count, signal),
    });
    for (;;) {
      const { value, done } = await ranking.next();
      if (done) return frontFrom(parts, value, fineCount * tokensIn(batches.valid));
      yield note(`${value} networks measured`);
    }
  } finally {
    await evaluator.release();
  }
}

function frontFrom(
  parts: SearchParts,
  { front, finalists, measured }: Readonly<Record<"front" | "finalists" | "measured", readonly Ranked[]>>,
  tokens: number,
): Front {
  const { model, settings } = parts;
  const { budget, latency } = settings;
  const baselineMs = baselineMsOf(parts);
  const sizedOf = (path: Path, ms: number) => {
    const pattern = patternOfPath(model.choices, path);
    const parameters = countParameters(parModel({ ...model.options, budget: undefined, blocks: pattern }).parameters);
    return { pattern, ms, ratio: ms / baselineMs, parameters };
  };
  const networkOf = ({ path, cost, loss }: Ranked): FrontNetwork => {
    return { ...sizedOf(path, cost), perplexity: Math.exp(loss) };
  };
  const regular = regularPaths(model.choices, cheapestComputing(parts)).filter((path) => mayBeRanked(parts, path));
  const networks = front.map(networkOf);
  const targetMs = budget === null ? null : targetOf(budget, baselineMs);
  const most = targetMs ?? Math.max(baselineMs, networks[0]!.ms);
  const { pattern } = pickWithin(networks, most);
  return {
    networks,
    finalists: finalists.map(networkOf),
    regular: regular.map((path) => sizedOf(path, costOfPath(parts, path))),
    chosen: pattern,
    baselineMs,
    targetMs,
    measured: measured.length,
    tokens,
    shape: latency,
  };
}

/** Times the chosen network whole, in turns with the (sf)-baseline. */
async function checkedLatency({ model, engine, settings, costs }: SearchParts, front: Front): Promise<LatencyCheck> {
  const whole = (blocks: string) => parModel({ ...model.options, budget: undefined, blocks });
  const models = [whole(front.chosen), whole(`baseline/${model.choices.length}`)];
  const [measuredMs, baselineMs] = await networkLatencies(engine, models, settings.latency, 30, quietest);
  const predictedMs = costOfNetwork(
    costs!,
    models[0]!.choices.map(([choice]) => choice!),
  );
  return {
    predictedMs,
    measuredMs: measuredMs!,
    predictedRatio: predictedMs / front.baselineMs,
    measuredRatio: measuredMs! / baselineMs!,
  };
}

function checkLine({ predictedMs, measuredMs, predictedRatio, measuredRatio }: LatencyCheck): string {
  const ms = `${measuredMs.toFixed(2)} ms where its pieces say ${predictedMs.toFixed(2)}`;
  return `chosen network timed whole: ${ms}; ${measuredRatio.toFixed(3)} of the (sf)-baseline where they say ${predictedRatio.toFixed(3)}`;
}
