/** Goes on with runs, and says how sessions ended and what to do next. */
import { table } from "../base/index.ts";
import type { Engine, LanguageModel, RetrainResult, RunKind, SearchResult, TextTask, training } from "../index.ts";
import type { EpochResult } from "../tasks/finetune/index.ts";
import { generate, kindOf, type ResumeChanges, Run, type TrainedModel } from "../tasks/index.ts";
import { commandName } from "./command-name.ts";
import { nextLines } from "./next-lines.ts";
import { watchSession } from "./session.ts";

const print = (text: string) => void process.stdout.write(`${text}\n`);
const say = (text: string) => void process.stderr.write(`${text}\n`);

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
    shown: shownOf(kind),
    picture: choicePicture,
    see: ({ type }) => {
      began ||= type === "begin";
    },
  });
  if (kind === "search" || kind === "seeds") return concludeSearch(path, result as SearchResult, how.json);
  if (kind === "retrain") return concludeRetrain(path, result as RetrainResult, how.json);
  const trained = result as Concluded;
  if (began) return concludeTraining(path, kind, trained, how);
  print(`${path} is finished: ${trained.steps} steps; ${endings[kind]?.after.replace("RUN", path)}`);
}

/** What of a result is said. */
export interface Concluded {
  readonly reason: string;
  readonly steps: number;
  readonly elapsedMs: number;
  readonly evaluation?: training.Measured | undefined;
  /** Of a fine-tuning. */
  readonly task?: TextTask;
  readonly epochs?: readonly EpochResult[];
}

/** What a person is shown of a kind's evaluations, and told when it has ended. */
interface Ending {
  readonly shown?: readonly string[];
  readonly next: readonly string[];
  /** What to do with a run that had ended before. */
  readonly after: string;
}

const endings: Readonly<Partial<Record<RunKind, Ending>>> = {
  language: {
    shown: ["depth"],
    next: ['generate RUN --prompt "it was"', "eval RUN --split test", "runs show RUN"],
    after: `start a new run with ${commandName()} train --init RUN`,
  },
  translate: {
    next: ["translate RUN < sentences.txt", "translate RUN --score test", "runs show RUN"],
    after: `start a new run with ${commandName()} train --init RUN`,
  },
  pretrain: {
    shown: ["mlm_accuracy", "sop_accuracy", "ponder_cost", "depth/all", "depth/unmasked", "depth/[MASK/MASK]"],
    next: ["depth RUN", "glue --help", "runs show RUN"],
    after: `start a new run with ${commandName()} pretrain --init RUN`,
  },
  finetune: {
    shown: ["accuracy", "f1", "exact", "matthews", "r2", "pearson", "spearman", "depth"],
    next: ['predict RUN --text "a lovely film"', "eval RUN", "runs show RUN"],
    after: `measure it with ${commandName()} eval RUN`,
  },
};

/** Which figures of its evaluations are shown. */
export const shownOf = (kind: RunKind): readonly string[] => endings[kind]?.shown ?? [];

/** Says how training ended, shows a sample of what was learnt, and what to do next. */
export async function concludeTraining(path: string, kind: RunKind, result: Concluded, how: Concluding): Promise<void> {
  const { reason, steps, elapsedMs, evaluation } = result;
  if (how.json) return print(JSON.stringify({ run: path, ...(await summaryOf(result)) }));
  if (reason === "stopped") return print(`stopped at step ${steps}; go on with: ${commandName()} resume ${path}`);
  print(`${reason} after ${steps} steps in ${(elapsedMs / 1000).toFixed(0)} s${figuresOf(evaluation)}`);
  if (kind === "language") print(`sample: ${await sampleOf(result as TrainedModel<LanguageModel>, how.engine)}`);
  if (result.epochs) print(table(await epochRows(result)));
  print(nextLines(path, endings[kind]?.next ?? []));
}

/** A result as JSON: of a fine-tuning what its file holds, once it has ended. */
async function summaryOf({ reason, steps, elapsedMs, evaluation, task, epochs }: Concluded): Promise<object> {
  if (!task || !epochs || reason === "stopped") return { reason, steps, elapsedMs, evaluation: evaluation ?? null };
  return (await import("../tasks/finetune/index.ts")).taskResult(task, epochs);
}

/** The dev set after each epoch; a star marks the best. */
async function epochRows({ task, epochs = [] }: Concluded) {
  const { best } = (await import("../tasks/finetune/index.ts")).taskResult(task!, epochs);
  const shown = (name: string, value: number) => (name === "depth" ? value : 100 * value).toFixed(2);
  return epochs.map(({ epoch, loss, figures }) => ({
    epoch: `${epoch}${epoch === best ? " *" : ""}`,
    "dev loss": loss.toFixed(4),
    ...Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, shown(name, value)])),
  }));
}

function figuresOf(evaluation: Concluded["evaluation"]): string {
  if (!evaluation) return "";
  const { perplexity, bitsPerByte, scalars = {}, decisive } = evaluation;
  if (decisive !== undefined) {
    const percent = (what: string, value?: number) =>
      value === undefined ? "" : `, ${what} ${(100 * value).toFixed(1)} %`;
    return percent("masked words", scalars.mlm_accuracy) + percent("sentence order", scalars.sop_accuracy);
  }
  const bits = bitsPerByte === undefined ? "" : ` (${bitsPerByte.toFixed(3)} bits per byte)`;
  return perplexity === undefined ? "" : `, valid perplexity ${perplexity.toFixed(2)}${bits}`;
}

const PROMPT = "it was";

/** A few words, so that one sees what was learnt. */
async function sampleOf(trained: TrainedModel<LanguageModel>, engine?: Engine): Promise<string> {
  let text = PROMPT;
  const options = { engine, prompt: PROMPT, maxTokens: 40, temperature: 0.7, seed: 1 };
  for await (const part of generate(trained, options)) text += part;
  return text;
}
