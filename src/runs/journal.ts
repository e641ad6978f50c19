/** Training in words: a line every hundred steps, at each evaluation and at the end. */
import { clock } from "../base/progress.ts";
import { figureText } from "../base/scores.ts";
import { formatNumber } from "../base/table.ts";
import type { EndEvent, EvaluationEvent, StepEvent } from "../train/events.ts";
import type { LoggedEvent } from "./event-log.ts";

const STEPS_A_LINE = 100;

/** Remembers the losses since its last line, to give their mean. */
export class RunJournal {
  #sum = 0;
  #count = 0;

  /** The log's lines for an event, with their ends: mostly none. */
  linesFor(event: LoggedEvent): string {
    if (event.type === "evaluation") return evaluationLine(event);
    if (event.type === "end") return endLine(event);
    this.#sum += event.loss;
    this.#count++;
    if (event.step % STEPS_A_LINE !== 0) return "";
    const mean = this.#sum / this.#count;
    this.#sum = this.#count = 0;
    return stepLine(event, mean);
  }
}

function stepLine({ step, epoch, learningRate, gradientNorm, tokensPerSecond, scalars = {} }: StepEvent, loss: number) {
  return line(
    `step ${formatNumber(step)}`,
    `epoch ${formatNumber(epoch, 2)}`,
    `loss ${loss.toFixed(4)}`,
    `perplexity ${formatNumber(Math.exp(loss), 2)}`,
    `learning rate ${learningRate.toExponential(2)}`,
    `gradient norm ${gradientNorm.toFixed(3)}`,
    `${formatNumber(tokensPerSecond, 0)} tokens/s`,
    ...named(scalars),
  );
}

const named = (scalars: Readonly<Record<string, number>>) =>
  Object.entries(scalars).map(([name, value]) => `${name} ${figureText(name, value, 4)}`);

function evaluationLine({ step, split, loss, perplexity, best, ...more }: EvaluationEvent) {
  const { perplexityPerWord, bitsPerByte, scalars = {}, pattern } = more;
  return line(
    `${split} at step ${formatNumber(step)}`,
    `loss ${loss.toFixed(4)}`,
    ...(perplexity === undefined ? [] : [`perplexity ${formatNumber(perplexity, 2)}`]),
    ...(perplexityPerWord === undefined ? [] : [`per word ${formatNumber(perplexityPerWord, 2)}`]),
    ...(bitsPerByte === undefined ? [] : [`bits per byte ${bitsPerByte.toFixed(4)}`]),
    ...named(scalars),
    ...(pattern === undefined ? [] : [pattern]),
    ...(best ? ["best so far"] : []),
  );
}

function endLine({ step, reason, elapsedMs }: EndEvent) {
  return line(`${reason} at step ${formatNumber(step)}`, `${clock(elapsedMs / 1000)} of training`);
}

function line(...parts: string[]): string {
  return `${parts.join("  ")}\n`;
}
