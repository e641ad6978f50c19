/** The job of a search: trains weights and architecture of a PAR Transformer-XL, cuts what is decided, finds a network. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { baselineCost, candidateName, networkFlops } from "../../analysis/latency.ts";
import { formatNumber } from "../../base/table.ts";
import type { ParModel } from "../../model/par/par.ts";
import { loadStateDict } from "../../model/state-dict.ts";
import { COSTS_FILE, type RunFolder, TOKENIZER_FILE } from "../../runs/folder.ts";
import { sealedJson } from "../../runs/sealed.ts";
import { tokensIn } from "../../train/evaluate.ts";
import type { TrainEvent, TrainState } from "../../train/events.ts";
import { trainStages } from "../../train/stages.ts";
import { loopOptions } from "../../train/train.ts";
import { batchesFact, engineFact, million, parametersFact, textFact } from "../facts.ts";
import type { Fact, Job, NoteEvent, Start } from "../job.ts";
import { costTable } from "./budget.ts";
import { FRONT_FILE, FRONT_PICTURE, frontSvg, keptFront } from "./front/front.ts";
import { choiceOf, rankedResult, searchingFront } from "./front/job.ts";
import { openPathStage } from "./front/stage.ts";
import { cutsIn, Narrowing, narrowedEvents } from "./narrowing.ts";
import { modelAt, type SearchParts } from "./parts.ts";
import { ChoicePictures } from "./pictures.ts";
import {
  ARCHITECTURE_FILE,
  type Ending,
  type Found,
  figuresOf,
  foundOf,
  keptResult,
  resultOf,
  type SearchResult,
} from "./result.ts";
import { loopLength, searchSettings } from "./settings.ts";
import { openSearchStage, trainOptions } from "./stage.ts";

/** The job that carries a search out. `config` is the text of config.yaml, where the run is not one of search itself. */
export function searchJob(parts: SearchParts, config = searchSettings.yaml(parts.settings)): Job<SearchResult> {
  const { engine, tokenizer, costs, course, model } = parts;
  const files = { [TOKENIZER_FILE]: tokenizer.bytes, ...(costs ? { [COSTS_FILE]: sealedJson(costs) } : {}) };
  return {
    config,
    text: parts.text,
    engine,
    files,
    keep: parts.settings.keep,
    length: { totalSteps: course.total, minutes: parts.settings.minutes },
    describe: () => factsOf(parts),
    events: (start) => (parts.settings.front ? searchingFront(parts, start) : searching(parts, start)),
    concluded: (state, run) => concluded(parts, state, run),
    kept: keptFiles,
    attach: async (run) => {
      await complete(run, files);
      return openPictures(run, parts);
    },
    rehearse: async () => [
      {
        name: "search",
        stage: await (parts.settings.front ? openPathStage(parts) : openSearchStage(parts, model)),
        accumulate: 1,
        updates: () => course.total,
      },
    ],
  };
}

function keptFiles(result: SearchResult): Record<string, string> {
  if (result.reason === "stopped") return {};
  const { front } = result;
  return {
    ...(front ? { [FRONT_FILE]: sealedJson(front), [FRONT_PICTURE]: frontSvg(front) } : {}),
    [ARCHITECTURE_FILE]: sealedJson(foundOf(result)),
  };
}

/** Candidates are cut until then, each time to the profit of later updates. */
const GROW_UNTIL = 0.8;

const note = (text: string): NoteEvent => ({ type: "note", text });

async function* searching(
  parts: SearchParts,
  { resume, signal }: Start,
): AsyncGenerator<TrainEvent | NoteEvent, SearchResult, void> {
  if (parts.costs && !resume) yield note(costTable(parts.costs, parts.model.choices));
  const { model, course, settings, batches } = parts;
  const open = (narrowed: ParModel) => openSearchStage(parts, narrowed);
  const narrowing = new Narrowing({ model, course, settings, tokens: tokensIn(batches.train), open }, resume);
  const loop = loopOptions({ ...trainOptions(parts), resume, signal });
  const length = loopLength(parts.settings, parts.course.total);
  const growing = { length, growUntil: GROW_UNTIL, onTotal: (total: number) => narrowing.expect(total) };
  const events = trainStages({ ...loop, ...growing, open: (state) => narrowing.open(state) });
  const { end, weights, evaluation } = yield* narrowedEvents(events, narrowing);
  const { reason, step: steps, elapsedMs } = end;
  const ending = { model: narrowing.model, weights, reason, steps, elapsedMs, cuts: narrowing.cuts, evaluation };
  return resultOf(parts, ending, await figuresOf(parts, ending));
}

/** What a search that has ended found; where it was killed before it could write that down, it is measured now. */
async function concluded(parts: SearchParts, state: TrainState, run: RunFolder): Promise<SearchResult> {
  const model = modelAt(parts.model, state);
  const { step: steps, elapsedMs, totalSteps } = state.progress;
  const ending: Ending = {
    model,
    weights: loadStateDict(model.parameters, state.weights, run.path),
    reason: steps === totalSteps ? "finished" : "stopped early",
    steps,
    elapsedMs,
    cuts: cutsIn(state),
    evaluation: undefined,
  };
  const kept = await keptResult(run.path);
  if (parts.settings.front) return concludedFront(parts, ending, run, kept);
  if (kept) return { ...resultOf(parts, ending, kept), ...kept };
  await (await openPictures(run, parts)).end();
  return resultOf(parts, ending, await figuresOf(parts, ending));
}

/** The same of a search for a front: where it was killed while it ranked, networks are ranked now. */
async function concludedFront(
  parts: SearchParts,
  ending: Ending,
  run: RunFolder,
  kept: Found | undefined,
): Promise<SearchResult> {
  const front = kept && (await keptFront(run.path));
  if (kept && front) return { ...resultOf(parts, ending, kept, choiceOf(parts, front)), ...kept };
  const ranking = rankedResult(parts, ending);
  for (;;) {
    const { value, done } = await ranking.next();
    if (done) return value;
    if (value.type === "note") run.log(value.text);
  }
}

/** Runs that were killed when they began may lack files of theirs. */
async function complete(run: RunFolder, files: Job["files"]): Promise<void> {
  for (const [name, data] of Object.entries(files)) {
    if (!existsSync(join(run.path, name))) await run.writeFile(name, data);
  }
}

const openPictures = (run: RunFolder, { model, course, settings }: SearchParts): Promise<ChoicePictures> =>
  ChoicePictures.open(run, {
    names: [...new Set(model.choices.flat().map(candidateName))],
    totalSteps: settings.minutes === null ? course.total : undefined,
  });

function factsOf(parts: SearchParts): Fact[] {
  const { settings, corpus, tokenizer, model, batches, engine, costs } = parts;
  const { blocks, depth, latency } = settings;
  const computing = model.choices.filter((block) => block.some(({ kind }) => kind !== "identity"));
  const names = [...new Set(model.choices.flat().map(candidateName))].join(", ");
  const flops = networkFlops(model, latency) / (latency.batch * latency.length);
  const target = model.options.budget?.target;
  return [
    textFact(corpus, tokenizer),
    { what: "blocks", value: typeof blocks === "number" ? `${blocks}, each of ${names}` : blocks },
    ...(depth === null ? [] : [{ what: "depth", value: `${depth} (${parts.model.policy.unique} own weights)` }]),
    parametersFact(model.parameters),
    { what: "executed depth", value: `${computing.length}` },
    { what: "FLOPs per token", value: million(flops) },
    ...(costs ? [{ what: "(sf)-baseline", value: `${ms(baselineCost(costs, model.choices.length))} forward` }] : []),
    ...(target === undefined ? [] : [{ what: "budget", value: ms(target) }]),
    batchesFact(batches.train),
    ...parts.evaluated,
    engineFact(engine),
  ];
}

const ms = (value: number) => `${formatNumber(value, 2)} ms`;
