/** `--dry-run`: what a run would be, and how long it would take, from a few measured steps. */

import { median } from "../../base/median.ts";
import { clock } from "../../base/progress.ts";
import { formatNumber, table } from "../../base/table.ts";
import { fed } from "../../train/loop.ts";
import type { Config } from "./settings.ts";
import { type Job, newStep, summary } from "./training.ts";

const MEASURED = 5;

function updatesIn({ steps, epochs, minutes, accumulate }: Config, perEpoch: number, stepMs: number): number {
  if (steps !== null) return steps;
  if (epochs !== null) return Math.floor((epochs * perEpoch) / accumulate);
  return Math.floor(((minutes ?? 1) * 60_000) / stepMs);
}

export async function dryRun(job: Job): Promise<string> {
  const { config } = job;
  const batches = await job.task.batches("train", () => {});
  const step = await newStep(job);
  const scalars = fed(job.task.scalars?.(1)(0) ?? {});
  const times: number[] = [];
  for (let i = 0; i < MEASURED + 2; i++) {
    const start = performance.now();
    await step.run(
      Array.from({ length: config.accumulate }, (_, k) => ({
        ...batches.at(i * config.accumulate + k),
        ...scalars,
      })),
      0,
    );
    times.push(performance.now() - start);
  }
  const stepMs = median(times.slice(2));
  const bytes = step.memoryBytes;
  await step.release();
  const updates = updatesIn(config, batches.count, stepMs);
  const tokens = config.accumulate * batches.tokens;
  const rows = [
    { what: "memory for weights, moments, masks", value: `${formatNumber(bytes / 2 ** 20, 1)} MiB` },
    { what: "batches in an epoch", value: formatNumber(batches.count) },
    {
      what: "measured step",
      value: `${formatNumber(stepMs, 1)} ms, ${formatNumber((1000 * tokens) / stepMs, 0)} tokens/s`,
    },
    { what: "updates", value: formatNumber(updates) },
    { what: "estimated time", value: clock((updates * stepMs) / 1000) },
  ];
  const columns = [
    { key: "what", title: "" },
    { key: "value", title: "" },
  ];
  return `${summary(job)}\n${table(rows, columns).trim()}`;
}
