/** `npx tsx bench/soak.ts [--steps N]`: trains a small model for long and watches that resident memory stays flat. */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { RandomStream } from "../src/base/random.ts";
import { type Row, table } from "../src/base/table.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { languageModel } from "../src/model/language/language.ts";
import { initialise } from "../src/nn/index.ts";
import { adamw } from "../src/train/optimiser.ts";
import { TrainingStep } from "../src/train/step.ts";
import { median } from "./measure.ts";

const config = { vocabulary: 500, width: 64, heads: 4, plan: [0, 1, 0, 1], length: 32, dropout: 0.1 };
const BATCH = 8;
/** Part of the base that memory may move by after warm-up. */
export const ALLOWED = 0.05;

export interface SoakOptions {
  steps: number;
  /** Steps before the base is taken. */
  warmUp: number;
  /** Steps between samples. */
  every: number;
  onSample?: (sample: Sample) => void;
}

export interface Sample {
  step: number;
  residentMb: number;
  heapMb: number;
  loss: number;
}

export interface SoakReport {
  samples: Sample[];
  /** Resident megabytes right after warm-up. */
  baseMb: number;
  /** The sample farthest from the base, as a signed part of it. */
  drift: number;
  flat: boolean;
  msPerStep: number;
}

async function openStep(): Promise<TrainingStep> {
  const model = languageModel(config);
  return TrainingStep.create({
    engine: await ortEngine(),
    ...model.objective({ batch: BATCH, length: config.length, training: true }),
    groups: [{ parameters: model.parameters.map(({ tensor }) => tensor), optimiser: adamw() }],
    initial: initialise(model.parameters, 1),
    seed: 1,
    clipNorm: 1,
  });
}

function batchFrom(random: RandomStream): { ids: Int32Array; targets: Int32Array } {
  const ids = Int32Array.from({ length: BATCH * config.length }, () => random.integer(config.vocabulary));
  return { ids, targets: ids.map((id) => (7 * id + 1) % config.vocabulary) };
}

const megabytes = (bytes: number) => bytes / 2 ** 20;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** A sample after a collection, so that garbage does not count. */
function sample(step: number, loss: number): Sample {
  collectGarbage();
  const { rss, heapUsed } = process.memoryUsage();
  return { step, residentMb: megabytes(rss), heapMb: megabytes(heapUsed), loss };
}

/** Trains for `steps` steps, each on a new batch, and reports how resident memory moved after warm-up. */
export async function soak({ steps, warmUp, every, onSample }: SoakOptions): Promise<SoakReport> {
  const training = await openStep();
  const random = new RandomStream(1, "soak");
  const samples: Sample[] = [];
  const start = performance.now();
  for (let step = 1; step <= steps; step++) {
    const { loss } = await training.run(batchFrom(random), 1e-3);
    if (step % every === 0) {
      samples.push(sample(step, loss));
      onSample?.(samples.at(-1)!);
    }
  }
  const msPerStep = (performance.now() - start) / steps;
  await training.release();
  return { ...judge(samples, warmUp), samples, msPerStep };
}

/** The base is the median of as many steps after warm-up as warm-up has; every sample after warm-up is held against it. */
export function judge(samples: readonly Sample[], warmUp: number): Pick<SoakReport, "baseMb" | "drift" | "flat"> {
  const later = samples.filter(({ step }) => step > warmUp);
  const first = later.filter(({ step }) => step <= 2 * warmUp);
  if (first.length === 0) throw new Error(`soak: no samples right after step ${warmUp}; raise the number of steps`);
  const baseMb = median(first.map(({ residentMb }) => residentMb));
  const drifts = later.map(({ residentMb }) => residentMb / baseMb - 1);
  const drift = drifts.reduce((worst, each) => (Math.abs(each) > Math.abs(worst) ? each : worst), 0);
  return { baseMb, drift, flat: Math.abs(drift) <= ALLOWED };
}

const percent = (part: number) => `${part >= 0 ? "+" : ""}${(100 * part).toFixed(2)} %`;

function rowOf({ step, residentMb, heapMb, loss }: Sample, baseMb: number): Row {
  const drift = percent(residentMb / baseMb - 1);
  return { step, "resident MB": residentMb.toFixed(1), drift, "heap MB": heapMb.toFixed(1), loss: loss.toFixed(4) };
}

function printReport({ samples, baseMb, drift, flat, msPerStep }: SoakReport, every: number): void {
  const shown = samples.filter(({ step }) => step % every === 0);
  const columns = [
    "step",
    ...["resident MB", "drift", "heap MB", "loss"].map((key) => ({ key, align: "right" }) as const),
  ];
  process.stdout.write(
    `${table(
      shown.map((each) => rowOf(each, baseMb)),
      columns,
    )}\n`,
  );
  const verdict = flat ? "flat" : "NOT FLAT";
  const limit = `allowed ±${100 * ALLOWED} %`;
  process.stdout.write(
    `${verdict}: ${percent(drift)} at most after warm-up, ${limit}; ${msPerStep.toFixed(1)} ms a step\n`,
  );
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { steps: { type: "string", default: "10000" } } });
  const steps = Number(values.steps);
  if (!Number.isInteger(steps) || steps < 40) {
    process.stderr.write(`soak: expected --steps of at least 40, got ${values.steps}\n`);
    process.exit(2);
  }
  const warmUp = Math.min(1000, Math.floor(steps / 4));
  const report = await soak({ steps, warmUp, every: Math.max(1, Math.floor(warmUp / 10)) });
  printReport(report, warmUp);
  process.exitCode = report.flat ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
