/** How training ended: in words, as data, and with a sample of what was learnt. */
import { figureText, scoreText } from "../base/scores.ts";
import { table } from "../base/table.ts";
import type { Engine } from "../engine/engine.ts";
import type { LanguageModel } from "../model/language/language.ts";
import type { TextTask } from "../text/labelled/text-task.ts";
import type { Measured } from "../train/events.ts";
import { trainingDoubts } from "./doubts.ts";
import type { EpochResult } from "./finetune/result.ts";
import { generate } from "./generate.ts";
import type { EncoderFound } from "./pretrain/found.ts";
import type { RunKind } from "./run.ts";
import type { TrainedModel } from "./trained-job.ts";

/** What of a result is told. */
export interface Ended {
  readonly reason: string;
  readonly steps: number;
  readonly elapsedMs: number;
  readonly evaluation?: Measured | undefined;
  /** Of a fine-tuning. */
  readonly task?: TextTask;
  readonly epochs?: readonly EpochResult[];
  /** Of the search of an encoder. */
  readonly found?: EncoderFound | undefined;
}

const figures: Readonly<Partial<Record<RunKind, readonly string[]>>> = {
  language: ["depth"],
  pretrain: ["mlm_accuracy", "sop_accuracy", "ponder_cost", "depth/all", "depth/unmasked", "depth/[MASK/MASK]"],
  finetune: ["accuracy", "f1", "exact", "matthews", "r2", "pearson", "spearman", "depth"],
  head: ["f1", "exact", "accuracy"],
};

/** Which of their evaluations' own figures runs of a kind are judged by. */
export const figuresOfKind = (kind: RunKind): readonly string[] => figures[kind] ?? [];

/** A result as data: of a fine-tuning what its file holds, once it has ended. */
export async function endingData(ended: Ended): Promise<object> {
  const { reason, steps, elapsedMs, evaluation, task, epochs, found } = ended;
  const own = { reason, steps, elapsedMs, evaluation: evaluation ?? null };
  if (found && reason !== "stopped") return { ...own, ...found };
  if (!task || !epochs || reason === "stopped") return own;
  return (await import("./finetune/result.ts")).taskResult(task, epochs);
}

/** A result in words, with a table of epochs where there are some, and what speaks against taking it for a finding. */
export async function endingText(ended: Ended): Promise<string> {
  const { reason, steps, elapsedMs, evaluation, task, epochs, found } = ended;
  const seconds = (elapsedMs / 1000).toFixed(0);
  return [
    `${reason} after ${steps} steps in ${seconds} s${figuresText(evaluation)}`,
    ...(task && epochs ? [await epochTable(task, epochs)] : []),
    ...(found ? await encoderLines(found) : []),
    ...trainingDoubts(ended),
  ].join("\n");
}

/** What the search of an encoder found, what it costs, and how sure it is. */
async function encoderLines(found: EncoderFound): Promise<string[]> {
  const { doubtsIn, marginLine } = await import("./search/doubts.ts");
  const { pattern, latency, targetMs } = found;
  const within = targetMs === null ? "" : ` (at most ${targetMs.toFixed(2)})`;
  const ms = latency ? `, ${latency.chosenMs.toFixed(2)} ms forward${within}` : "";
  return [`found ${pattern}${ms}`, marginLine(found), ...doubtsIn(found)];
}

/** The dev set after each epoch; a star marks the best. */
async function epochTable(task: TextTask, epochs: readonly EpochResult[]): Promise<string> {
  const { best } = (await import("./finetune/result.ts")).taskResult(task, epochs);
  const rows = epochs.map(({ epoch, loss, figures }) => ({
    epoch: `${epoch}${epoch === best ? " *" : ""}`,
    "dev loss": loss.toFixed(4),
    ...Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, figureText(name, value, 2)])),
  }));
  return table(rows);
}

function figuresText(evaluation: Measured | undefined): string {
  if (!evaluation) return "";
  const { perplexity, bitsPerByte, scalars = {}, decisive } = evaluation;
  if (decisive !== undefined) {
    const percent = (what: string, value?: number) => (value === undefined ? "" : `, ${what} ${scoreText(value)}`);
    return percent("masked words", scalars.mlm_accuracy) + percent("sentence order", scalars.sop_accuracy);
  }
  const bits = bitsPerByte === undefined ? "" : ` (${bitsPerByte.toFixed(3)} bits per byte)`;
  return perplexity === undefined ? "" : `, valid perplexity ${perplexity.toFixed(2)}${bits}`;
}

const PROMPT = "it was";

/** A few words by a language model, so that one sees what was learnt. */
export async function sampleOf(trained: TrainedModel<LanguageModel>, engine?: Engine): Promise<string> {
  let text = PROMPT;
  // What trains on a device generates on the processor.
  const used = engine?.residence ? undefined : engine;
  const options = { engine: used, prompt: PROMPT, maxTokens: 40, temperature: 0.7, seed: 1 };
  for await (const part of generate(trained, options)) text += part;
  return text;
}
