/** One update of 64 × 512 tokens at width 512, 16 micro-batches of 4 added up: peak memory of the process. `npx tsx bench/accumulation.ts [--recompute]`. */
import { RandomStream } from "../src/base/random.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { languageModel } from "../src/model/language/language.ts";
import { firstValues } from "../src/train/first-values.ts";
import { adamw } from "../src/train/optimiser.ts";
import { TrainingStep } from "../src/train/step.ts";
import { timed } from "./measure.ts";

const LIMIT_MB = 4096;
const [rows, accumulate, length, vocabulary] = [4, 16, 512, 16_000];
const recompute = process.argv.includes("--recompute");
const plan = Array.from({ length: 8 }, (_, i) => i);
const model = languageModel({ vocabulary, width: 512, heads: 8, length, plan });
const parameters = model.parameters.map(({ tensor }) => tensor);
const step = await TrainingStep.create({
  engine: await ortEngine(),
  ...model.objective({ batch: rows, length, training: true }),
  groups: [{ parameters, optimiser: adamw({ weightDecay: 0.01 }) }],
  initial: firstValues(model.parameters, 1),
  seed: 1,
  accumulate,
  recompute,
});
const random = new RandomStream(1, "bench batch");
const draw = () => Int32Array.from({ length: rows * length }, () => random.integer(vocabulary));
const batches = Array.from({ length: accumulate }, () => ({ ids: draw(), targets: draw() }));
const ms = await timed(() => step.run(batches, 1e-4));
const peak = process.resourceUsage().maxRSS / 1024;
const weights = (
  parameters.reduce((sum, { shape }) => sum + shape.reduce<number>((a, b) => a * Number(b), 1), 0) / 1e6
).toFixed(1);
const words = `${accumulate * rows} × ${length} tokens, width 512, 8 deep, ${weights} M weights${recompute ? ", recomputed" : ""}`;
process.stdout.write(`${words}: peak ${Math.round(peak)} MB (limit ${LIMIT_MB}), ${(ms / 1000).toFixed(1)} s\n`);
await step.release();
process.exit(peak <= LIMIT_MB ? 0 : 1);
