/** What the clusters of an adaptive softmax cost on this machine: loss and gradients of each part, timed and fitted. */
import { median } from "../base/median.ts";
import { RandomStream } from "../base/random.ts";
import type { Engine, Numbers, Program } from "../engine/engine.ts";
import { gradients, input, simplify, sum } from "../graph/index.ts";
import { AdaptiveSoftmax, initialise, tailsOf } from "../nn/index.ts";
import type { ClusterCost } from "../text/cutoffs.ts";
import { fitNonNegative, type Observation } from "./cost-fit.ts";

/** Sizes of an adaptive softmax and of the rows that it sees. */
export interface SoftmaxShape {
  readonly width: number;
  /** Rows of a step: batch × length. */
  readonly rows: number;
  /** Each tail's projection is narrower by this. */
  readonly factor: number;
  readonly vocabulary: number;
  readonly clusters: number;
}

/** What clusters were measured to cost. */
export interface MeasuredCosts {
  /** In milliseconds of a step, by cluster; mass is counted in rows. */
  readonly costs: readonly ClusterCost[];
  /** The largest of the fits' errors. */
  readonly error: number;
}

/** One timed case: a part with so many outputs on so many rows. */
interface Trial {
  readonly cluster: number;
  readonly words: number;
  readonly rows: number;
  run(): Promise<unknown>;
}

const HEAD_WORDS = [16, 64, 256, 1024, 4096];
const TAIL_WORDS = [64, 512, 2048, 8192];
/** Parts of all rows that fall into a tail. */
const SHARES = [1 / 64, 1 / 8, 1 / 2];
const [WARM_UP, ROUNDS] = [2, 7];

/** Times all parts in turn and fits their costs; `tell` hears the done part of the work. */
export async function measureSoftmax(
  engine: Engine,
  shape: SoftmaxShape,
  tell: (done: number) => void = () => {},
): Promise<MeasuredCosts> {
  const programs: Program[] = [];
  try {
    const trials: Trial[] = [];
    for (let cluster = 0; cluster < shape.clusters; cluster++) {
      for (const words of sizesFor(cluster, shape.vocabulary)) {
        const part = await compilePart(engine, shape, cluster, words);
        programs.push(part.program);
        trials.push(...trialsOf(part, shape, cluster, words));
      }
    }
    return fitted(trials, await timesOf(trials, tell), shape);
  } finally {
    await Promise.all(programs.map((program) => program.release()));
  }
}

/** Sizes up to the vocabulary; at least two, so that a line can be laid through them. */
function sizesFor(cluster: number, vocabulary: number): number[] {
  const fitting = (cluster === 0 ? HEAD_WORDS : TAIL_WORDS).filter((words) => words < vocabulary);
  return fitting.length >= 2 ? fitting : [32, 64];
}

interface Part {
  readonly program: Program;
  readonly feeds: Readonly<Record<string, Numbers>>;
  readonly into: Readonly<Record<string, Numbers>>;
  /** Input of the rows that go through the tail. */
  readonly rowInput: string;
}

/** Loss and all gradients of a head with so many outputs, or of the tail of that index with so many words. */
async function compilePart(engine: Engine, shape: SoftmaxShape, cluster: number, words: number): Promise<Part> {
  const { width, rows } = shape;
  const [isHead, cutoff] = [cluster === 0, cluster === 0 ? words - 1 : 1]; // a head has a slot for its tail
  const sizes = [projectionOf(shape, Math.max(1, cluster))];
  const softmax = new AdaptiveSoftmax("softmax", {
    width,
    vocabulary: cutoff + (isHead ? 1 : words),
    cutoffs: [cutoff],
    sizes,
  });
  const hidden = input("hidden", [rows, width]);
  const parameters = softmax.parameters.filter(({ name }) =>
    name.startsWith(isHead ? "softmax.head." : "softmax.tails."),
  );
  const loss = sum(softmax.losses(hidden, input("targets", [rows], "int"))[isHead ? 0 : 1]!.values);
  const found = simplify([loss, ...gradients(loss, [hidden, ...parameters.map(({ tensor }) => tensor)])]);
  const program = await engine.compile({
    outputs: Object.fromEntries(found.map((tensor, i) => [`output ${i}`, tensor])),
    takesTurns: true,
  });
  const random = new RandomStream(1, "softmax cost");
  const weights = [...initialise(parameters, 1)].map(([{ attributes }, data]) => [attributes.name, data] as const);
  const targets = Int32Array.from({ length: rows }, () => (isHead ? 0 : cutoff) + random.integer(words));
  const feeds = { hidden: Float32Array.from({ length: rows * width }, () => random.normal()), targets };
  return {
    program,
    feeds: { ...Object.fromEntries(weights), ...feeds },
    into: roomFor(program),
    rowInput: softmax.rowInputs[0]!.attributes.name,
  };
}

/** Width of the tail of an index from 1. */
function projectionOf({ width, factor }: SoftmaxShape, index: number): number {
  const cutoffs = Array.from({ length: index }, (_, k) => k + 1);
  return tailsOf("softmax", { width, factor, vocabulary: index + 1, cutoffs }).at(-1)!.size;
}

/** Arrays that receive the outputs, as in training, where nothing is allocated. */
function roomFor({ outputs }: Program): Record<string, Numbers> {
  const sizeOf = (shape: readonly unknown[]) => shape.reduce<number>((size, dim) => size * Number(dim), 1);
  return Object.fromEntries(outputs.map(({ name, shape }) => [name, new Float32Array(sizeOf(shape))]));
}

function trialsOf(
  { program, feeds, into, rowInput }: Part,
  shape: SoftmaxShape,
  cluster: number,
  words: number,
): Trial[] {
  if (cluster === 0) return [{ cluster, words, rows: shape.rows, run: () => program.run(feeds, into) }];
  const counts = new Set(SHARES.map((share) => Math.max(1, Math.round(share * shape.rows))));
  return [...counts].map((rows) => {
    const data = Int32Array.from({ length: rows }, (_, i) => Math.floor((i * shape.rows) / rows));
    const all = { ...feeds, [rowInput]: { data, shape: [rows] } };
    return { cluster, words, rows, run: () => program.run(all, into) };
  });
}

/** Medians in milliseconds, over rounds in which every trial has its turn. */
async function timesOf(trials: readonly Trial[], tell: (done: number) => void): Promise<number[]> {
  const times = trials.map((): number[] => []);
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const [i, trial] of trials.entries()) {
      const start = performance.now();
      await trial.run();
      if (round >= 0) times[i]!.push(performance.now() - start);
    }
    tell((round + WARM_UP + 1) / (ROUNDS + WARM_UP));
  }
  return times.map(median);
}

/** A head sees all rows, so its time is a line over its outputs; a tail's has terms for rows, words and their product. */
function fitted(trials: readonly Trial[], times: readonly number[], { clusters }: SoftmaxShape): MeasuredCosts {
  let error = 0;
  const costs = Array.from({ length: clusters }, (_, cluster): ClusterCost => {
    const observations = trials.flatMap((trial, i): Observation[] => {
      const terms = cluster === 0 ? [1, trial.words] : [1, trial.words, trial.rows, trial.words * trial.rows];
      return trial.cluster === cluster ? [{ terms, value: times[i]! }] : [];
    });
    const fit = fitNonNegative(observations);
    error = Math.max(error, fit.error);
    const [fixed = 0, perWord = 0, perMass = 0, perProduct = 0] = fit.coefficients;
    return { fixed: fixed + (cluster === 0 ? perWord * (clusters - 1) : 0), perWord, perMass, perProduct };
  });
  return { costs, error };
}
