/** Goes on with runs, and says how sessions ended and what to do next. */
import type { Engine, LanguageModel, RetrainResult, RunKind, SearchResult } from "../index.ts";
import {
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
import { commandName } from "./command-name.ts";
import { nextLines } from "./next-lines.ts";
import { print, say } from "./output.ts";
import { watchSession } from "./session.ts";

/** On what a session ran, and how its end is told. */
interface Concluding {
  readonly changes?: ResumeChanges | undefined;
  readonly engine?: Engine | undefined;
  readonly json?: boolean | undefined;
}

/** Goes on with a run of any kind, on the engine it began with unless another is given. */
export async function resume(path: string, how: Concluding = {}): Promise<void> {
  const kind = await kindOf(path);
  const { choicePicture, concludeRetrain, concludeSearch } = await import("./searches.ts");
  let began = false;
  const start = (signal: AbortSignal) => Run.resume(path, { ...how.changes, signal, say, engine: how.engine });
  const result = await watchSession(start, {
    shown: figuresOfKind(kind),
    picture: choicePicture,
    see: ({ type }) => {
      began ||= type === "begin";
    },
  });
  if (kind === "search" || kind === "seeds") return concludeSearch(path, result as SearchResult, how.json);
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

/** Says how training ended, shows a sample of what was learnt, and what to do next. */
export async function concludeTraining(path: string, kind: RunKind, result: Ended, how: Concluding): Promise<void> {
  if (how.json) return print(JSON.stringify({ run: path, ...(await endingData(result)) }));
  if (result.reason === "stopped")
    return print(`stopped at step ${result.steps}; go on with: ${commandName()} resume ${path}`);
  print(await endingText(result));
  if (kind === "language") print(`sample: ${await sampleOf(result as TrainedModel<LanguageModel>, how.engine)}`);
  print(nextLines(path, nextWords(kind)));
}
