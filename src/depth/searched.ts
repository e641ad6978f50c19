/** Searched depth: every block mixes candidates by a learned distribution π, which annealed Gumbel draws harden into a choice. */
import { reject, rejectOption } from "../base/errors.ts";
import { anything, checkOptions, number, oneOf, type Rules, truth } from "../base/options.ts";
import {
  add,
  argMax,
  constant,
  divide,
  exp,
  input,
  maximum,
  multiply,
  oneHot,
  slice,
  softmax,
  subtract,
  sum,
  type Tensor,
  within,
} from "../graph/index.ts";
import {
  type Candidate,
  clippedLog,
  gumbelSoftmax,
  type Initial,
  newParameter,
  type Parameter,
  type SegmentContext,
  straightThrough,
  zeros,
} from "../nn/index.ts";
import { cachesOf, contextsOf } from "./caches.ts";
import { printPattern } from "./pattern.ts";
import type { Course, Deepened, DepthPolicy, TrainingScalars } from "./policy.ts";

/** How candidates are mixed, and how the mixture hardens. */
export interface SearchedOptions {
  /** Forward the one candidate that was drawn, with the gradient of the soft draw. Default: false. */
  straightThrough?: boolean | undefined;
  /** `annealed`: τ comes as the input `temperature`; `trained`: one per block, kept positive. Default: annealed. */
  temperature?: "annealed" | "trained" | undefined;
  /** First temperature. Default: 1. */
  initialTemperature?: number | undefined;
  /** Last temperature where it is annealed. Default: 0.1. */
  finalTemperature?: number | undefined;
  /** π are weights clipped at 0 instead of logits; a trained temperature is the variable itself, an annealed one ends at initial · final. */
  compat?: "original" | undefined;
  /** Expected cost above a target is penalised. */
  budget?: Budget | undefined;
}

/** What blocks may cost, in any unit: weight · max(0, (fixed + Σ π·cost) / target − 1) is the penalty. */
export interface Budget {
  /** Of each candidate of each block. */
  readonly costs: readonly (readonly number[])[];
  /** What the rest of the network costs in any case. */
  readonly fixed: number;
  readonly target: number;
  readonly weight: number;
}

/** Without noise a block mixes by π itself, or takes the candidate of the largest. */
export type Evaluation = "mean" | "arg-max";

/** What the policy may be told beyond what a block is. */
export interface SearchContext extends SegmentContext {
  /** Memory of each depth. */
  readonly memories?: readonly (Tensor | undefined)[] | undefined;
  /** Default: mean. */
  readonly evaluation?: Evaluation | undefined;
  /** Is shown each depth's input: what its memory will be made of. */
  remember?(depth: number, x: Tensor): void;
}

/** One for all: policies of one model are annealed together. */
const temperature = input("temperature", []);

/** π of a block, where it has a choice. */
interface Choice {
  readonly weights: Parameter;
  readonly temperature: Parameter | undefined;
}

/** As many equal parts; of three, those of the original. */
const evenParts: Initial = ([count]) =>
  count === 3 ? Float32Array.of(0.33, 0.33, 0.34) : new Float32Array(count!).fill(1 / count!);

/** Blocks of candidates. A block with one candidate is that candidate: so the network that was found is this policy too. */
export class Searched implements DepthPolicy {
  readonly blocks: readonly (readonly Candidate[])[];
  /** The input that carries an annealed temperature. */
  readonly temperature: Tensor<"input"> | undefined;
  readonly #choices: readonly (Choice | undefined)[];
  readonly #options: SearchedOptions;

  constructor(name: string, blocks: readonly (readonly Candidate[])[], options: SearchedOptions = {}) {
    const empty = blocks.findIndex((candidates) => candidates.length === 0);
    if (blocks.length === 0 || empty >= 0) {
      const got = blocks.length === 0 ? "no blocks" : `none in block ${empty}`;
      rejectOption({ who: name, needed: "at least one candidate a block", got });
    }
    this.blocks = blocks;
    this.#options = options;
    this.#choices = blocks.map(({ length }, i) =>
      length > 1 ? newChoice(`${name}.${i}`, length, options) : undefined,
    );
    checkSearch(name, options);
    const anneals = options.temperature !== "trained" && this.#choices.some(Boolean);
    this.temperature = anneals ? temperature : undefined;
  }

  get depth(): number {
    return this.blocks.filter((candidates) => candidates.some(({ kind }) => kind !== "identity")).length;
  }

  get unique(): number {
    const owners = this.blocks.flatMap(
      (candidates) => candidates.find(({ parameters }) => parameters.length > 0) ?? [],
    );
    return new Set(owners).size;
  }

  get caches(): number | undefined {
    return cachesOf(this.blocks.flat());
  }

  get scalars(): TrainingScalars {
    return this.temperature ? { temperature: { input: this.temperature, at: temperatureCourse(this.#options) } } : {};
  }

  get parameters(): Parameter[] {
    const all = this.blocks.flatMap((candidates, i) => {
      const own = candidates.flatMap(({ parameters }) => [...parameters]);
      const { weights, temperature } = this.#choices[i] ?? {};
      return [...own, ...(weights ? [weights] : []), ...(temperature ? [temperature] : [])];
    });
    return [...new Set(all)]; // a candidate that stands at several depths is shared
  }

  /** The parameters that are the architecture: π and trained temperatures. */
  get architecture(): Parameter[] {
    return this.#choices.flatMap((choice) => {
      return choice ? [choice.weights, ...(choice.temperature ? [choice.temperature] : [])] : [];
    });
  }

  apply(x: Tensor, context: SearchContext): Deepened {
    const probes: Record<string, Tensor> = {};
    const contexts = contextsOf(context, this.blocks.flat());
    const hidden = this.blocks.reduce((state, candidates, depth) => {
      context.remember?.(depth, state);
      const memory = context.memories?.[depth] ?? context.memory;
      const local = contexts.splice(0, candidates.length).map((each) => ({ ...each, memory }));
      const choice = this.#choices[depth];
      return within(`depth ${depth}`, () => {
        if (!choice) return candidates[0]!.apply(state, local[0]!);
        const mixture = this.#mixture(choice, candidates.length, context);
        probes[`pi.${depth}`] = this.#probabilities(choice);
        probes[`mixture.${depth}`] = mixture;
        return mix(state, candidates, mixture, local);
      });
    }, x);
    const penalty = this.#penalty();
    return { hidden, probes, ...(penalty ? { penalty } : {}) };
  }

  /** Where π decides what the network costs; as long as the expected cost is within the target, 0. */
  #penalty(): Tensor | undefined {
    const { budget } = this.#options;
    const expected: Tensor[] = this.#choices.flatMap((choice, i) => {
      if (!choice || !budget) return [];
      const costs = constant(budget.costs[i]!, [budget.costs[i]!.length]);
      return [sum(multiply(this.#probabilities(choice), costs))];
    });
    if (!budget || expected.length === 0) return undefined;
    const decided = budget.fixed + total(budget.costs.map((costs, i) => (this.#choices[i] ? 0 : costs[0]!)));
    const cost = add(
      expected.reduce((a, b) => add(a, b)),
      decided,
    );
    return multiply(maximum(subtract(multiply(cost, 1 / budget.target), 1), 0), budget.weight);
  }

  /** π of a block, where it has a choice. */
  distribution(block: number): Parameter | undefined {
    return this.#choices[block]?.weights;
  }

  /** The weights of a block's candidates: drawn where the mode draws, otherwise π or its largest. */
  #mixture(choice: Choice, count: number, { mode, evaluation }: SearchContext): Tensor {
    const noise = mode.draw({ kind: "gumbel" }, [count]);
    if (!noise) {
      const mean = this.#probabilities(choice);
      return evaluation === "arg-max" ? oneHot(argMax(mean), count) : mean;
    }
    const soft = gumbelSoftmax(this.#logits(choice), noise, this.#temperatureOf(choice));
    return this.#options.straightThrough ? straightThrough(soft) : soft;
  }

  #logits({ weights }: Choice): Tensor {
    return this.#options.compat === "original" ? clippedLog(weights.tensor) : weights.tensor;
  }

  #probabilities({ weights: { tensor } }: Choice): Tensor {
    if (this.#options.compat === undefined) return softmax(tensor);
    const clipped = add(maximum(tensor, 0), 1e-5);
    return divide(clipped, sum(clipped, { keepDims: true }));
  }

  #temperatureOf({ temperature }: Choice): Tensor {
    if (!temperature) return this.temperature!;
    return this.#options.compat === "original" ? temperature.tensor : exp(temperature.tensor);
  }

  /** π of each block under given weights; 1 where there is no choice. */
  probabilities(values: ReadonlyMap<Tensor<"parameter">, ArrayLike<number>>): number[][] {
    return this.#choices.map((choice) => {
      if (!choice) return [1];
      const raw = Array.from(values.get(choice.weights.tensor)!);
      const shares = raw.map((value) =>
        this.#options.compat === "original" ? Math.max(value, 0) + 1e-5 : Math.exp(value - Math.max(...raw)),
      );
      const all = total(shares);
      return shares.map((share) => share / all);
    });
  }

  /** Index of the most probable candidate of each block: the architecture that was found. */
  chosen(values: ReadonlyMap<Tensor<"parameter">, ArrayLike<number>>): number[] {
    return this.probabilities(values).map((shares) => shares.indexOf(Math.max(...shares)));
  }

  /** The found architecture as a pattern: `(sff)x2i`, `s f:1024`. */
  pattern(values: ReadonlyMap<Tensor<"parameter">, ArrayLike<number>>): string {
    return printPattern(this.chosen(values).map((index, i) => this.blocks[i]![index]!));
  }
}

/** A policy that mixes candidates block by block. */
export function searched(
  name: string,
  blocks: readonly (readonly Candidate[])[],
  options: SearchedOptions = {},
): Searched {
  return new Searched(name, blocks, options);
}

const total = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

function newChoice(name: string, count: number, options: SearchedOptions): Choice {
  const original = options.compat === "original";
  const start = options.initialTemperature ?? temperatureDefaults.start;
  const first: Initial = () => Float32Array.of(original ? start : Math.log(start));
  return {
    weights: newParameter(`${name}.pi`, [count], original ? evenParts : zeros, "architecture"),
    temperature: options.temperature === "trained" ? newParameter(`${name}.tau`, [], first, "architecture") : undefined,
  };
}

const temperatureDefaults = { start: 1, end: 0.1 };

const rules: Rules<SearchedOptions> = {
  straightThrough: truth,
  temperature: oneOf(["annealed", "trained"]),
  initialTemperature: number({ above: 0 }),
  finalTemperature: number({ above: 0 }),
  compat: oneOf(["original"]),
  budget: anything,
};

function checkSearch(name: string, options: SearchedOptions): void {
  checkOptions(name, options, rules);
  const { temperature, finalTemperature } = options;
  if (temperature !== "trained" || finalTemperature === undefined) return;
  const remedy = "leave finalTemperature out";
  rejectOption({ who: name, needed: "a trained temperature without an end", got: `${finalTemperature}`, remedy });
}

function temperatureCourse({ initialTemperature, finalTemperature, compat }: SearchedOptions): Course {
  const { start, end } = temperatureDefaults;
  const ends = { start: initialTemperature ?? start, end: finalTemperature ?? end };
  return (step, total) => annealedTemperature({ ...ends, total, compat })(step);
}

/** Σ wᵢ·candidateᵢ(x); where all are residual, x + Σ wᵢ·residualᵢ(x), which is the same since the weights sum to 1. */
function mix(
  x: Tensor,
  candidates: readonly Candidate[],
  mixture: Tensor,
  contexts: readonly SegmentContext[],
): Tensor {
  const weigh = (y: Tensor, i: number) => multiply(y, slice(mixture, 0, i, i + 1));
  if (!candidates.every((candidate) => candidate.residual)) {
    const weighed: Tensor[] = candidates.map((candidate, i) => weigh(candidate.apply(x, contexts[i]!), i));
    return weighed.reduce((a, b) => add(a, b));
  }
  return candidates.reduce((total, candidate, i) => {
    const change = candidate.residual!(x, contexts[i]!);
    return change ? add(total, weigh(change, i)) : total;
  }, x);
}

/** The course of an annealed temperature. */
export interface TemperatureOptions {
  start: number;
  end: number;
  /** Updates in all. */
  total: number;
  /** The original's formula, which ends at start · end. */
  compat?: "original" | undefined;
}

/** τ of update s, counted from 0: start · (end / start)^(s / total). */
export function annealedTemperature({ start, end, total, compat }: TemperatureOptions): (step: number) => number {
  if (!(start > 0 && end > 0)) {
    reject({ who: "temperature", needed: "a start and an end above 0", got: `${start} and ${end}` }, 2);
  }
  const base = compat === "original" ? end : end / start;
  return (step) => start * base ** (step / total);
}
