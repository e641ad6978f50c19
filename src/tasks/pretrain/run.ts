/** The run folder of pre-training: made, gone on with, and concluded. */
import { join } from "node:path";
import { reject } from "../../base/errors.ts";
import type { RunFolder } from "../../runs/folder.ts";
import type { ParameterTensor } from "../../train/memory.ts";
import { commandName } from "../command-name.ts";
import { environment } from "../environment.ts";
import { resumeWith } from "../resuming.ts";
import { type AlbertRunConfig, createAlbertRun, openAlbertRun, parseAlbertRun, transferred } from "./albert-run.ts";
import { pretrainingSchema, resolvePretraining } from "./settings.ts";
import { openPretraining, type PretrainingJob, type PretrainingOutcome, pretrainIn } from "./training.ts";

const COMMAND = "pretrain";
const say = (text: string) => void process.stderr.write(`${text}\n`);
const print = (text: string) => void process.stdout.write(`${text}\n`);

/** First weights out of another ALBERT's run: encoder and, where it has them, heads. */
export interface Initial {
  readonly init: string;
  /** The step of the checkpoint they are from. */
  readonly initStep: number;
  readonly weights: ReadonlyMap<ParameterTensor, Float32Array>;
}

export async function openInitial(
  init: string,
  { described, config }: PretrainingJob,
  step?: number,
): Promise<Initial> {
  const run = await openAlbertRun(init, step);
  return { init, initStep: run.step, weights: transferred(run, described, config.seed).weights };
}

export async function createPretraining(path: string, job: PretrainingJob, initial?: Initial): Promise<RunFolder> {
  const { description, data, config, engine } = job;
  const origin = initial ? { init: initial.init, initStep: initial.initStep } : {};
  const training = { command: COMMAND, ...origin, ...config };
  const content = { description, training, tokenizer: data.tokenizer, environment: await environment(engine) };
  return createAlbertRun(path, content, config.keep);
}

/** The settings that a run was made with, and where its first weights came from. */
function storedSettings({ training }: AlbertRunConfig, source: string) {
  const { command, init, initStep, ...values } = training ?? {};
  if (command !== COMMAND) {
    const got = typeof command === "string" ? `one of layerwise ${command}` : "one that was imported";
    reject({ who: source, needed: "a run of layerwise pretrain", got }, 2);
  }
  const config = resolvePretraining([{ source, values: pretrainingSchema.check(values, source) }]);
  return { ...config, origin: init === undefined ? undefined : { init: `${init}`, initStep: Number(initStep) } };
}

/** Goes on from the last checkpoint, and prints how it ended. */
export const resumePretraining = (path: string): Promise<void> =>
  resumeWith(path, {
    settings: (yaml, source) => storedSettings(parseAlbertRun(yaml, source), source),
    finished: (_, __, step) => `${path} is finished: ${step} steps; go on with layerwise pretrain --init ${path}`,
    train: async (run, { origin, ...config }, engine, resume) => {
      const job = await openPretraining(config, engine, say, join(path, "tokenizer.model"));
      const initial = resume || !origin ? undefined : await openInitial(origin.init, job, origin.initStep);
      concludePretraining(path, await pretrainIn(run, job, { resume, initial: initial?.weights }, process.stderr));
    },
  });

export function concludePretraining(path: string, { end, last }: PretrainingOutcome): void {
  if (end.reason === "stopped") {
    print(`stopped at step ${end.step}; go on with: ${commandName()} resume ${path}`);
    return;
  }
  const { mlm_accuracy: words, sop_accuracy: order } = last?.scalars ?? {};
  const share = (what: string, value: number | undefined) =>
    value === undefined ? "" : `, ${what} ${(100 * value).toFixed(1)} %`;
  const figures = share("masked words", words) + share("sentence order", order);
  print(`${end.reason} after ${end.step} steps in ${(end.elapsedMs / 1000).toFixed(0)} s${figures}`);
  print(
    `next:\n  ${commandName()} depth ${path}\n  ${commandName()} glue --help\n  ${commandName()} runs show ${path}`,
  );
}
