/** Goes on with runs, and says how sessions ended and what to do next. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { reject } from "../base/index.ts";
import type { Engine, LanguageModel, RetrainResult, RunKind, SearchResult } from "../index.ts";
import {
  choicePicture,
  type Ended,
  endingData,
  endingText,
  figuresOfKind,
  kindOf,
  nextWords,
  type ResumeChanges,
  Run,
  sampleOf,
  type TrainedModel,
} from "../tasks/index.ts";
import { commandName, nextLines } from "./command-name.ts";
import { print, say } from "./output.ts";
import { watchSession } from "./session.ts";

/** On what a session ran, and how its end is told. */
interface Concluding {
  readonly changes?: ResumeChanges | undefined;
  readonly engine?: Engine | undefined;
  readonly json?: boolean | undefined;
  /** Of a sweep: where its trials run. */
  readonly on?: string | undefined;
}

/** Goes on with a run or sweep of any kind, on the engine it began with unless another is given. */
export async function resume(path: string, how: Concluding = {}): Promise<void> {
  if (["sweep.yaml", "seeds.json"].some((name) => existsSync(join(path, name)))) return resumeTrials(path, how);
  if (how.on !== undefined) reject({ who: "--on", needed: "a sweep", got: path, remedy: "leave it out" }, 2);
  const kind = await kindOf(path);
  const { concludeRetrain, concludeSearch } = await import("./searches.ts");
  let began = false;
  const start = (signal: AbortSignal) => Run.resume(path, { ...how.changes, signal, say, engine: how.engine });
  const result = await watchSession(start, {
    shown: figuresOfKind(kind),
    picture: choicePicture,
    see: ({ type }) => {
      began ||= type === "begin";
    },
  });
  if (kind === "search") return concludeSearch(path, result as SearchResult, how.json);
  if (kind === "retrain") return concludeRetrain(path, result as RetrainResult, how.json);
  const trained = result as Ended;
  if (began) return concludeTraining(path, kind, trained, how);
  print(`${path} is finished: ${trained.steps} steps; ${afterwards(kind, path)}`);
}

/** What to do with a run that had ended before. */
const afterwards = (kind: RunKind, path: string): string =>
  kind === "finetune" || kind === "head"
    ? `measure it with ${commandName()} eval ${path}`
    : `start a new run with ${commandName()} ${kind === "pretrain" ? "pretrain" : "train"} --init ${path}`;

async function resumeTrials(path: string, { changes = {}, engine, json, on }: Concluding): Promise<void> {
  const changed = Object.entries(changes).find(([, value]) => value !== undefined && JSON.stringify(value) !== "{}");
  const needed = "a single run, to change its settings";
  if (changed) reject({ who: path, needed, got: "a sweep", remedy: "change one of its runs" }, 2);
  const { resumeSweep, sweepText } = await import("../sweep/index.ts");
  const { isUnfinished, watchTrials } = await import("./trials.ts");
  const { concludeSeeds } = await import("./searches.ts");
  const start = (signal: AbortSignal) => resumeSweep(path, { signal, say, engine, on });
  const result = await watchTrials(start, { here: on === undefined, picture: choicePicture });
  if (result.found) return concludeSeeds(result, json);
  print(json ? JSON.stringify(result) : sweepText(result));
  isUnfinished(path, result.reason);
}

/** Says how training ended, shows a sample of what was learnt, and what to do next. */
export async function concludeTraining(path: string, kind: RunKind, result: Ended, how: Concluding): Promise<void> {
  if (how.json) return print(JSON.stringify({ run: path, ...(await endingData(result)) }));
  if (result.reason === "stopped")
    return print(`stopped at step ${result.steps}; go on with: ${commandName()} resume ${path}`);
  print(await endingText(result));
  if (kind === "language") print(`sample: ${await sampleOf(result as TrainedModel<LanguageModel>, how.engine)}`);
  print(nextLines(path, [...(result.found ? ["pretrain --found RUN"] : []), ...nextWords(kind)]));
}
