/** `npx tsx bench/optimisers.ts [--steps N] [--threads N]`: AdamW against Muon with AdamW, learning rates swept, on the embedded books. */
import { parseArgs } from "node:util";
import { RandomStream } from "../src/base/random.ts";
import { type Row, table } from "../src/base/table.ts";
import type { Engine } from "../src/engine/engine.ts";
import { defaultThreads, ortEngine } from "../src/engine/ort.ts";
import { type LanguageModel, languageModel } from "../src/model/language/language.ts";
import { initialise } from "../src/nn/index.ts";
import { linesOf, type Split } from "../src/text/corpus.ts";
import { openCorpus } from "../src/text/files/corpus.ts";
import { chooseTokenizer } from "../src/text/files/trained-tokenizer.ts";
import { tokenize } from "../src/text/tokens.ts";
import { optimiserGroups } from "../src/train/groups.ts";
import { muon } from "../src/train/muon.ts";
import { adamw, type Optimiser } from "../src/train/optimiser.ts";
import { TrainingStep } from "../src/train/step.ts";
import { median } from "./measure.ts";

const config = { width: 128, heads: 4, plan: [0, 1, 2, 3], length: 64, dropout: 0 };
const [PIECES, BATCH, WARM_UP, DECAY] = [2000, 16, 20, 0.1];
const MOMENTS = { beta1: 0.9, beta2: 0.99 };
/** Valid losses between the first step and the last. */
const EVALUATIONS = 8;
/** Learning rates around the best one of each. */
const RATES = { adamw: [5e-4, 1e-3, 2e-3, 4e-3], muon: [2e-3, 4e-3, 8e-3, 1.6e-2] };

interface Result {
  optimiser: string;
  rate: number;
  /** Valid loss after so many steps. */
  curve: { step: number; loss: number }[];
  msPerStep: number;
}

interface Tokens {
  size: number;
  train: ArrayLike<number>;
  valid: ArrayLike<number>;
}

async function openTokens(): Promise<Tokens> {
  const corpus = await openCorpus();
  const { tokenizer } = await chooseTokenizer(undefined, corpus, { pieces: PIECES });
  const idsOf = (split: Split) => tokenize(linesOf(corpus, split), tokenizer).ids;
  return { size: tokenizer.size, train: idsOf("train"), valid: idsOf("valid") };
}

/** Windows of the text from the given starts, and the same one token later. */
function windows(text: ArrayLike<number>, starts: readonly number[]): { ids: Int32Array; targets: Int32Array } {
  const cut = (shift: number) =>
    starts.flatMap((s) => Array.from({ length: config.length }, (_, i) => text[s + i + shift]!));
  return { ids: Int32Array.from(cut(0)), targets: Int32Array.from(cut(1)) };
}

/** Linear warm-up, then half a cosine down to a tenth. */
function rateAt(step: number, steps: number, peak: number): number {
  if (step <= WARM_UP) return (peak * step) / WARM_UP;
  const part = (step - WARM_UP) / Math.max(1, steps - WARM_UP);
  return peak * (0.1 + 0.45 * (1 + Math.cos(Math.PI * part)));
}

/** A function that tells the mean loss over the valid text with the step's present weights. */
async function openEvaluation(engine: Engine, model: LanguageModel, training: TrainingStep, text: ArrayLike<number>) {
  const { loss } = model.objective({ batch: BATCH, length: config.length, training: false });
  const program = await engine.compile({ outputs: { loss } });
  const span = BATCH * config.length;
  const batches = Array.from({ length: Math.floor((text.length - 1) / span) }, (_, b) => {
    const starts = Array.from({ length: BATCH }, (_, i) => b * span + i * config.length);
    return windows(text, starts);
  });
  const evaluate = async () => {
    const weights = [...training.weights].map(([{ attributes }, values]) => [attributes.name, values] as const);
    let total = 0;
    for (const batch of batches) {
      total += (await program.run({ ...batch, ...Object.fromEntries(weights) })).loss!.data[0]!;
    }
    return total / batches.length;
  };
  return { evaluate, release: () => program.release() };
}

async function train(engine: Engine, tokens: Tokens, steps: number, optimiser: Optimiser, rate: number) {
  const model = languageModel({ ...config, vocabulary: tokens.size });
  const training = await TrainingStep.create({
    engine,
    ...model.objective({ batch: BATCH, length: config.length, training: true }),
    groups: optimiserGroups(model.parameters, {
      optimiser: "adamw",
      weightDecay: DECAY,
      settings: { adamw: MOMENTS },
      byRole: { matrix: { optimiser } },
    }),
    initial: initialise(model.parameters, 1),
    seed: 1,
    clipNorm: 1,
  });
  const evaluation = await openEvaluation(engine, model, training, tokens.valid);
  const random = new RandomStream(1, "windows");
  const result: Result = { optimiser: optimiser.name, rate, curve: [], msPerStep: 0 };
  const times: number[] = [];
  for (let step = 1; step <= steps; step++) {
    const starts = Array.from({ length: BATCH }, () => random.integer(tokens.train.length - config.length - 1));
    const batch = windows(tokens.train, starts);
    const start = performance.now();
    await training.run(batch, rateAt(step, steps, rate));
    times.push(performance.now() - start);
    if (step % Math.ceil(steps / EVALUATIONS) === 0 || step === steps)
      result.curve.push({ step, loss: await evaluation.evaluate() });
  }
  await evaluation.release();
  await training.release();
  return { ...result, msPerStep: median(times) };
}

const finalLoss = ({ curve }: Result) => curve.at(-1)!.loss;

/** The step at which a run was as good as `loss`, between evaluations by a straight line. */
function stepReaching({ curve }: Result, loss: number): number | undefined {
  const at = curve.findIndex((point) => point.loss <= loss);
  const [before, after] = [curve[at - 1], curve[at]];
  if (!after || !before) return after?.step;
  return Math.round(after.step - ((after.step - before.step) * (loss - after.loss)) / (before.loss - after.loss));
}

function rowOf(result: Result, goal: number): Row {
  const reached = stepReaching(result, goal);
  return {
    optimiser: result.optimiser,
    rate: String(result.rate),
    "valid loss": finalLoss(result).toFixed(4),
    "ms a step": result.msPerStep.toFixed(1),
    "steps to AdamW's best": reached ?? null,
    "seconds to it": reached === undefined ? null : ((reached * result.msPerStep) / 1000).toFixed(1),
  };
}

async function main(): Promise<void> {
  const options = { steps: { type: "string", default: "250" }, threads: { type: "string" } } as const;
  const { values } = parseArgs({ options });
  const engine = await ortEngine({ threads: Number(values.threads ?? defaultThreads()) });
  const tokens = await openTokens();
  // State lies in the training step, so that one optimiser serves all runs.
  const contenders: [Optimiser, number[]][] = [
    [adamw({ ...MOMENTS, weightDecay: DECAY }), RATES.adamw],
    [muon(engine, { weightDecay: DECAY }), RATES.muon],
  ];
  const results: Result[] = [];
  for (const [optimiser, rates] of contenders) {
    for (const rate of rates) {
      const result = await train(engine, tokens, Number(values.steps), optimiser, rate);
      process.stderr.write(`${optimiser.name} ${rate}: ${result.curve.map(({ loss }) => loss.toFixed(3)).join(" ")}\n`);
      results.push(result);
    }
  }
  const goal = Math.min(...results.filter(({ optimiser }) => optimiser === "adamw").map(finalLoss));
  const columns = ["optimiser", ...["rate", "valid loss", "ms a step", "steps to AdamW's best", "seconds to it"]];
  const aligned = columns.map((key) => (key === "optimiser" ? key : ({ key, align: "right" } as const)));
  process.stdout.write(
    `${table(
      results.map((each) => rowOf(each, goal)),
      aligned,
    )}\n`,
  );
}

await main();
