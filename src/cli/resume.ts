/** Goes on with runs, and says how sessions ended and what to do next. */
import type { Engine } from "../engine/engine.ts";
import type { RetrainResult, SearchResult } from "../tasks/search/index.ts";
import { commandName } from "./command-name.ts";
import { choicePicture, concludeRetrain, concludeSearch } from "./searches.ts";
import { watchSession } from "./session.ts";

const print = (text: string) => void process.stdout.write(`${text}\n`);
const say = (text: string) => void process.stderr.write(`${text}\n`);

/** Goes on with a run of any kind, on the engine it began with unless another is given. */
export async function resume(path: string, how: { engine?: Engine | undefined; json?: boolean } = {}): Promise<void> {
  const { kindOf, Run } = await import("../tasks/run.ts");
  const kind = await kindOf(path).catch(() => undefined);
  if (kind === undefined) return (await import("../tasks/kinds.ts")).resumeRun(path);
  let began = false;
  const start = (signal: AbortSignal) => Run.resume(path, { signal, say, engine: how.engine });
  const result = await watchSession(start, {
    picture: choicePicture,
    see: ({ type }) => {
      began ||= type === "begin";
    },
  });
  if (kind === "search" || kind === "seeds") return concludeSearch(path, result as SearchResult, how.json);
  if (kind === "retrain") return concludeRetrain(path, result as RetrainResult, how.json);
  const trained = result as Concluded;
  if (began) return concludeTraining(path, kind, trained, how.json);
  print(`${path} is finished: ${trained.steps} steps; start a new run with ${commandName()} train --init ${path}`);
}

/** What of a result is said. */
interface Concluded {
  readonly reason: string;
  readonly steps: number;
  readonly elapsedMs: number;
  readonly evaluation?:
    | { readonly loss: number; readonly perplexity?: number; readonly bitsPerByte?: number }
    | undefined;
}

const nextCommands: Readonly<Record<string, readonly string[]>> = {
  language: ['generate RUN --prompt "it was"', "eval RUN --split test", "runs show RUN"],
  translate: ["translate RUN < sentences.txt", "translate RUN --score test", "runs show RUN"],
};

/** Says how training ended, shows a sample of what was learnt, and what to do next. */
export async function concludeTraining(path: string, kind: string, result: Concluded, json = false): Promise<void> {
  const { reason, steps, elapsedMs, evaluation } = result;
  if (json) return print(JSON.stringify({ run: path, reason, steps, elapsedMs, evaluation: evaluation ?? null }));
  if (reason === "stopped") return print(`stopped at step ${steps}; go on with: ${commandName()} resume ${path}`);
  print(`${reason} after ${steps} steps in ${(elapsedMs / 1000).toFixed(0)} s${figuresOf(evaluation)}`);
  if (kind === "language") print(`sample: ${await sampleOf(path)}`);
  print(["next:", ...nextCommands[kind]!.map((line) => `  ${commandName()} ${line.replace("RUN", path)}`)].join("\n"));
}

function figuresOf(evaluation: Concluded["evaluation"]): string {
  if (evaluation?.perplexity === undefined) return "";
  const bits = evaluation.bitsPerByte === undefined ? "" : ` (${evaluation.bitsPerByte.toFixed(3)} bits per byte)`;
  return `, valid perplexity ${evaluation.perplexity.toFixed(2)}${bits}`;
}

const PROMPT = "it was";

/** A few words, so that one sees what was learnt. */
async function sampleOf(path: string): Promise<string> {
  const { Run } = await import("../tasks/run.ts");
  const run = await Run.open(path, "language", { checkpoint: "last" });
  let text = PROMPT;
  for await (const part of run.generate({ prompt: PROMPT, maxTokens: 40, temperature: 0.7, seed: 1 })) text += part;
  return text;
}
