/** What a run would be, and how long it would take, from a few measured steps. */
import { median } from "../base/median.ts";
import { clock } from "../base/progress.ts";
import { formatNumber } from "../base/table.ts";
import { tokensIn } from "../train/evaluate.ts";
import { fed } from "../train/loop.ts";
import type { Stage } from "../train/stages.ts";
import type { Tell } from "../train/telling.ts";
import type { Fact, Rehearsal, Rehearsed } from "./job.ts";

const [WARM_UP, MEASURED] = [2, 5];
/** Slow steps are measured less often. */
const LONG_MS = 20_000;

/** The job's description, and for each of its parts memory, step and time; nothing is kept. `onStep` is told of measured steps. */
export async function dryRun(job: Rehearsed, onStep?: Tell): Promise<Fact[]> {
  const facts = [...job.describe()];
  const parts = await job.rehearse();
  const each = WARM_UP + MEASURED;
  for (const [i, part] of parts.entries()) {
    const heading = parts.length > 1 ? `${part.name}: ` : "";
    const tell: Tell = (done) => onStep?.(i * each + done, parts.length * each);
    for (const { what, value } of await rehearse(part, tell)) facts.push({ what: `${heading}${what}`, value });
  }
  return facts;
}

/** Seconds that a job would train for, by a few steps of each of its parts; nothing is kept. */
export async function estimatedSeconds(job: Rehearsed): Promise<number> {
  let seconds = 0;
  for (const { stage, accumulate, times = 1, updates } of await job.rehearse()) {
    try {
      const stepMs = times * (await measureStep(stage, accumulate));
      seconds += (updates(stepMs) * stepMs) / 1000;
    } finally {
      await stage.release();
    }
  }
  return seconds;
}

async function rehearse({ stage, accumulate, times = 1, updates }: Rehearsal, tell: Tell): Promise<Fact[]> {
  try {
    const stepMs = times * (await measureStep(stage, accumulate, tell));
    const count = updates(stepMs);
    const tokens = times * accumulate * tokensIn(stage.batches);
    return [
      { what: "memory for weights, moments, masks", value: `${formatNumber(stage.step.memoryBytes / 2 ** 20, 1)} MiB` },
      {
        what: "measured step",
        value: `${formatNumber(stepMs, 1)} ms, ${formatNumber((1000 * tokens) / stepMs, 0)} tokens/s`,
      },
      { what: "updates", value: formatNumber(count) },
      { what: "estimated time", value: clock((count * stepMs) / 1000) },
    ];
  } finally {
    await stage.release();
  }
}

/** How long an update takes, in milliseconds: the median of a few. */
export async function measureStep({ step, batches, scalars }: Stage, accumulate = 1, tell?: Tell): Promise<number> {
  const given = fed(scalars?.(1)(0) ?? {});
  const times: number[] = [];
  const begin = performance.now();
  for (let i = 0; i < WARM_UP + MEASURED && (i < 2 || performance.now() - begin < LONG_MS); i++) {
    const taken = Array.from({ length: accumulate }, (_, k) => ({ ...batches.at(i * accumulate + k), ...given }));
    tell?.(i, WARM_UP + MEASURED);
    const start = performance.now();
    await step.run(taken, 0);
    times.push(performance.now() - start);
  }
  return median(times.slice(times.length > 3 ? WARM_UP : 1));
}
