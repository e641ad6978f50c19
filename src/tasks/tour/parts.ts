/** The parts of the tour: each trains its runs, then reads its figures out of their folders. */
import type { LanguageModel } from "../../model/language/language.ts";
import { reportOn } from "../../model/report.ts";
import { RunFolder } from "../../runs/folder.ts";
import { type Corpus, linesOf } from "../../text/corpus.ts";
import { openCorpus } from "../../text/files/corpus.ts";
import type { Tokenizer } from "../../text/tokenizer.ts";
import type { TrainEvent } from "../../train/events.ts";
import type { Session } from "../../train/session.ts";
import { depthsOf } from "../depths.ts";
import type { TaskEvent } from "../job.ts";
import { languageJob, openLanguage, planOf } from "../language/job.ts";
import type { LanguageConfig } from "../language/settings.ts";
import type { NewRun } from "../new-run.ts";
import { performOpened } from "../perform.ts";
import type { NetworkFigures, RetrainedNetwork } from "../search/comparison.ts";
import { retrain, search } from "../search/index.ts";
import type { TrainedModel } from "../trained-job.ts";
import { commonWords, depthsByKind, mostVaried } from "./kinds.ts";
import type { Course, TourEvent } from "./laps.ts";
import { adaptSettings, retrainSettings, shareSettings, supernetSettings } from "./recipe.ts";
import type { AdaptResult, SearchedResult, SharedModel, ShareResult } from "./results.ts";

/** A part's events, and its figures; null where it was stopped. */
export type Part<R> = AsyncGenerator<TourEvent, R | null, void>;

/** The session of a language model. */
function training(
  { engine, signal }: Course,
  settings: LanguageConfig,
  into: NewRun,
): Session<TaskEvent, TrainedModel<LanguageModel>> {
  const open = async (say: (text: string) => void) => {
    const given = { engine, say };
    return languageJob(await openLanguage(settings, given), given);
  };
  return performOpened(open, { into, signal });
}

async function* sharedModel(course: Course, name: string, unique: number): Part<SharedModel> {
  const settings = shareSettings(name, unique, course.sizes);
  const trained = yield* course.run(name, (into) => training(course, settings, into));
  if (trained.reason === "stopped") return null;
  const { parameters, flopsPerToken } = reportOn(trained.model, settings);
  const { loss, perplexity } = trained.evaluation!;
  return { run: name, plan: planOf(settings), parameters, flopsPerToken, loss, perplexity: perplexity! };
}

/** Two layers of weights run six deep, beside six layers of weights. */
export async function* sharePart(course: Course): Part<ShareResult> {
  const shared = yield* sharedModel(course, "shared", 2);
  if (!shared) return null;
  const unshared = yield* sharedModel(course, "unshared", 6);
  return unshared && { shared, unshared };
}

/** A supernet that decides, then what it found beside the baseline. */
export async function* searchPart(course: Course): Part<SearchedResult> {
  const { engine, signal, sizes } = course;
  const searched = yield* course.run("search", (into) => search({ ...supernetSettings(sizes), engine, into, signal }));
  if (searched.reason === "stopped") return null;
  const { reason, network, baseline } = yield* course.run("found", (into) =>
    retrain(searched, { ...retrainSettings(sizes), engine, into, signal }),
  );
  if (reason === "stopped" || !baseline) return null;
  const events = await (await RunFolder.read(course.folder("search"))).events();
  const moments = momentsOf(events);
  const { choices } = moments.at(-1)!;
  return {
    run: "search",
    pattern: searched.pattern,
    candidates: moments[0]!.choices[0]!.names,
    certainty: choices.map(({ probabilities }) => Math.max(...probabilities)),
    moments,
    found: figuresOf(network, "found"),
    baseline: figuresOf(baseline, "found-baseline"),
  };
}

function figuresOf(network: RetrainedNetwork, run: string): NetworkFigures {
  const { model: _, weights: __, tokenizer: ___, ranks: ____, ...figures } = network;
  return { ...figures, run };
}

/** Steps and evaluations that tell of π, with the temperature and the last perplexity. */
function momentsOf(events: readonly TrainEvent[]): SearchedResult["moments"] {
  let temperature: number | null = null;
  let perplexity: number | null = null;
  const moments = new Map<number, SearchedResult["moments"][number]>();
  for (const event of events) {
    if (event.type === "step") temperature = event.scalars?.temperature ?? null;
    if (event.type === "evaluation") perplexity = event.perplexity ?? null;
    if ((event.type !== "step" && event.type !== "evaluation") || !event.choices) continue;
    const { step, choices, pattern } = event;
    moments.set(step, { step, choices, perplexity, temperature, pattern });
  }
  return [...moments.values()];
}

const LINES = 300;

/** A language model whose tokens halt by themselves, read on the valid text. */
export async function* adaptPart(course: Course): Part<AdaptResult> {
  const settings = adaptSettings(course.sizes);
  const trained = yield* course.run("adapt", (into) => training(course, settings, into));
  if (trained.reason === "stopped") return null;
  const corpus = await openCorpus(settings.corpus);
  const sentences = fittingSentences(corpus, trained.tokenizer.tokenizer);
  const { engine } = course;
  const lines = [...linesOf(corpus, "valid")].filter((line) => line.length > 40).slice(0, LINES);
  const all = await depthsOf(trained, [...sentences, ...lines], { engine });
  const [shown, read] = [mostVaried(all.slice(0, sentences.length)), all.slice(sentences.length)];
  const { loss, perplexity } = trained.evaluation!;
  const cap = trained.model.policy.depth;
  const figures = depthsByKind(read, commonWords(linesOf(corpus, "train")), cap);
  const tokens = shown.map(({ piece, depth }) => ({ piece, depth }));
  return { run: "adapt", cap, loss, perplexity: perplexity!, ...figures, sentence: tokens };
}

const SENTENCES = 40;

/** The first sentences of the test text that fit on two lines and are not all in pieces. */
function fittingSentences(corpus: Corpus, tokenizer: Tokenizer): string[] {
  const fits = (line: string) => line.length > 90 && line.length < 150;
  const isWhole = (line: string) => tokenizer.encode(line).length < 1.6 * line.split(" ").length;
  const lines = [...linesOf(corpus, "test")].map((line) => line.trim()).filter((line) => line.length > 0);
  const found = lines.filter((line) => fits(line) && isWhole(line)).slice(0, SENTENCES);
  return found.length > 0 ? found : lines.slice(0, 1);
}
