/** Halting: every token passes through the plan until its halting probabilities add up, then stays as it is. */
import { check, checkOptions, number, oneOf, type Rules, required, text, truth, whole } from "../base/options.ts";
import {
  add,
  broadcast,
  cast,
  concat,
  divide,
  exp,
  full,
  greater,
  input,
  less,
  matmul,
  minimum,
  multiply,
  negate,
  not,
  or,
  reshape,
  scalar,
  select,
  slice,
  subtract,
  sum,
  type Tensor,
  within,
} from "../graph/index.ts";
import { type Block, type Context, Embedding, newParameter, normal, type Parameter } from "../nn/index.ts";
import { checkPlan } from "./fixed.ts";
import { loopCourse } from "./loops.ts";
import type { Plan } from "./plan.ts";
import type { Course, Deepened, DepthPolicy, TrainingScalars } from "./policy.ts";
import { cachesWith, depthsOf, type SharedKeys, sharedKeys } from "./running.ts";

/** When tokens halt, what becomes of them, and what depth costs. */
export interface HaltingOptions {
  /** Width C of the hidden state. */
  width: number;
  /** A token halts when its probabilities exceed 1 − epsilon. */
  epsilon?: number;
  /** `blend`: the state moves towards each block output by its probability. `weightedSum`: Graves' mean of the block outputs. */
  accumulate?: "blend" | "weightedSum";
  /** With `weightedSum`: a halted token's state stays (`frozen`), or goes on being transformed for the others to look at (`running`). */
  halted?: "frozen" | "running";
  /** A token that still runs at the last depth halts there with what is left of its probability. Off: that is lost. */
  haltAtCap?: boolean;
  /** First bias of the halting unit: 0 starts at probability ½, −3 at 0.05. */
  biasInitial?: number;
  /** Adds a learned vector to the state before each depth. */
  stepEmbedding?: boolean;
  /** Factor τ of the penalty on depths plus remainders; 0 for none. */
  ponder?: number;
  /** Updates before τ counts at all; below 1 a fraction of all updates. Default: 0. */
  ponderFrom?: number;
  /** Updates over which τ then grows from 0; below 1 a fraction of all updates. Default: 0. Either makes `ponderScale` an input of training. */
  ponderWarmup?: number;
  /** The penalty's mean over real tokens, or their sum a text (averaged over texts), which grows with the length. */
  ponderReduce?: "mean" | "sum";
  /** Progressive depth: the deepest depth that tokens run to at the first update, from where it grows to the plan's. 0: the plan's from the start. Default: 0. */
  capFrom?: number;
  /** Updates over which it grows; below 1 a fraction of all updates. Default: 0.5. */
  capOver?: number;
  /** What halted tokens show to those that still run, in training and in use. Default: own. */
  keys?: SharedKeys;
  /** Whether padding runs: it never helps, but the original's torch port does so. */
  pads?: "skip" | "run";
  /** Prefix of the names of the policy's own parameters. */
  name?: string;
}

/** What the original did where the defaults differ: spread over a model's options. */
export const compat = { haltAtCap: false, biasInitial: 0, ponderReduce: "sum" } as const;

/** The options that are left out. */
export const haltingDefaults = {
  epsilon: 0.01,
  accumulate: "blend",
  halted: "frozen",
  haltAtCap: true,
  biasInitial: 0,
  stepEmbedding: false,
  ponder: 0,
  ponderFrom: 0,
  ponderWarmup: 0,
  ponderReduce: "mean",
  capFrom: 0,
  capOver: 0.5,
  keys: "own",
  pads: "skip",
  name: "halting",
} as const;

const rules: Rules<HaltingOptions> = {
  width: required(whole(1)),
  epsilon: number({ above: 0, below: 1 }),
  accumulate: oneOf(["blend", "weightedSum"]),
  halted: oneOf(["frozen", "running"]),
  haltAtCap: truth,
  biasInitial: number(),
  stepEmbedding: truth,
  ponder: number(),
  ponderFrom: number({ from: 0 }),
  ponderWarmup: number({ from: 0 }),
  ponderReduce: oneOf(["mean", "sum"]),
  capFrom: whole(),
  capOver: number({ above: 0 }),
  keys: sharedKeys,
  pads: oneOf(["skip", "run"]),
  name: text,
};

/** One for all: what policies of one model cost grows together. */
const scale = input("ponderScale", []);
const cap = input("haltingCap", []);

/** A context with caps of the tokens. */
export interface HaltingContext extends Context {
  /** int [B·T]: the depth at which a token halts at the latest, where it is less than the plan's. */
  readonly caps?: Tensor | undefined;
}

/** The counters of every token, [N, 1] each. */
export interface Counters {
  /** Probability so far; exactly 1 once halted. */
  readonly halting: Tensor;
  /** What was left at the halting step. */
  readonly remainders: Tensor;
  /** Depths the token ran through. */
  readonly updates: Tensor;
}

/** One depth for every token: how much of the block output it takes, and its counters afterwards. */
export interface Turn extends Counters, Share {
  readonly probability: Tensor;
  /** bool: true from the depth on at which a token halts. */
  readonly halts: Tensor;
  /** What `halting` becomes where a token goes on. */
  readonly total: Tensor;
}

/** How much of a block output each token takes, and who still runs. */
export interface Share {
  /** Weight of the block output: probability, remainder at the halting step, 0 once halted. */
  readonly weight: Tensor;
  /** Left out where all of them run. */
  readonly running?: Tensor | undefined;
}

/** State and sum of the outputs, [N, C] each; with `blend` only the state counts. */
export interface Accumulated {
  readonly state: Tensor;
  readonly total: Tensor;
}

/** The halting policy, with its parts open to those who compute only some rows. */
export interface HaltingPolicy extends DepthPolicy {
  readonly blocks: readonly Block[];
  readonly plan: Plan;
  readonly options: Required<HaltingOptions>;
  /** What the block at a depth reads: the state, plus the step's vector where there is one. */
  entering(state: Tensor, depth: number): Tensor;
  /** What the halting unit makes of a block output: y [N, C] → [N, 1] */
  probability(y: Tensor): Tensor;
  /** The counters of the tokens x before the first depth. */
  start(x: Tensor, context: HaltingContext): Counters;
  /** Who halts at a depth, from probabilities there [N, 1] and the caps [N] or [N, 1] of the same tokens. */
  turn(probability: Tensor, counters: Counters, depth: number, caps?: Tensor): Turn;
  /** Block outputs y into the sums, all of the same rows. */
  accumulate(y: Tensor, sums: Accumulated, share: Share): Accumulated;
  finish(
    sums: Accumulated,
    counters: Counters,
    context: HaltingContext,
    probes: Readonly<Record<string, Tensor>>,
  ): Deepened;
  apply(x: Tensor, context: HaltingContext): Deepened;
}

/** Every token runs through the plan until its halting probabilities add up to 1 − epsilon, and then stays as it is. */
export function halting(blocks: readonly Block[], plan: Plan, given: HaltingOptions): HaltingPolicy {
  checkPlan(plan, blocks.length);
  checkOptions("halting", given, rules);
  const options = { ...haltingDefaults, ...given };
  return new Halting(blocks, plan, options);
}

/** Whether a policy was made by `halting`, so that its parts are open to those who compute only some rows. */
export const isHalting = (policy: DepthPolicy): policy is HaltingPolicy => policy instanceof Halting;

class Halting implements HaltingPolicy {
  readonly blocks: readonly Block[];
  readonly plan: Plan;
  readonly options: Required<HaltingOptions>;
  readonly #unit: HaltingUnit;
  readonly #steps: Embedding | undefined;
  readonly scalars: TrainingScalars;

  /** `known`: the halting unit and steps of a deeper one that has the same weights. */
  constructor(blocks: readonly Block[], plan: Plan, options: Required<HaltingOptions>, known?: Halting) {
    const { name, width, biasInitial, stepEmbedding } = options;
    this.blocks = blocks;
    this.plan = plan;
    this.options = options;
    this.#unit = known ? known.#unit : new HaltingUnit(name, width, biasInitial);
    this.scalars = { ...scalarsOf(options), ...capOf(options, plan.length) };
    const steps = { count: plan.length, width, role: "halting" } as const;
    this.#steps = known ? known.#steps : stepEmbedding ? new Embedding(`${name}.steps`, steps) : undefined;
  }

  get parameters(): Parameter[] {
    const layers = [...this.blocks, this.#unit, ...(this.#steps ? [this.#steps] : [])];
    return layers.flatMap((layer) => [...layer.parameters]);
  }

  get depth(): number {
    return this.plan.length;
  }

  get unique(): number {
    return this.blocks.length;
  }

  get caches(): number | undefined {
    return cachesWith(this.#order, this.options.keys);
  }

  /** Tokens that still run at the depth halt there. Blocks that run again must not differ from visit to visit. */
  shallower(depth: number): DepthPolicy | undefined {
    const plan = this.plan.slice(0, depth);
    const blocks = this.blocks.slice(0, Math.max(-1, ...plan) + 1);
    return depth < 1 ? undefined : new Halting(blocks, plan, { ...this.options, capFrom: 0, haltAtCap: true }, this);
  }

  get #order(): Block[] {
    return this.plan.map((i) => this.blocks[i]!);
  }

  entering(state: Tensor, depth: number): Tensor {
    return this.#steps ? add(state, slice(this.#steps.weight.tensor, 0, depth, depth + 1)) : state;
  }

  probability(y: Tensor): Tensor {
    return this.#unit.apply(y);
  }

  start(x: Tensor, { real }: HaltingContext): Counters {
    const shape = [x.shape[0]!, 1];
    const zero = full(0, shape);
    const halting = real && this.options.pads === "skip" ? cast(not(reshape(real, shape)), "float") : zero;
    return { halting, remainders: zero, updates: zero };
  }

  turn(probability: Tensor, { halting, remainders, updates }: Counters, depth: number, caps?: Tensor): Turn {
    const running = less(halting, 1);
    const total = add(halting, probability); // above 1 for those who have halted before
    const halts = this.#halts(total, depth, caps);
    const left = subtract(1, halting); // 0 for those who have halted before
    return {
      probability,
      running,
      halts,
      total,
      weight: select(halts, left, probability),
      // A constant 1, not the sum: what was added up must not come out as 0.99999994.
      halting: select(halts, 1, total),
      remainders: add(remainders, select(halts, left, 0)),
      updates: add(updates, cast(running, "float")),
    };
  }

  /** Whose probabilities exceed 1 − epsilon, or who has come to a cap. */
  #halts(total: Tensor, depth: number, caps: Tensor | undefined): Tensor {
    const { haltAtCap, epsilon } = this.options;
    if (haltAtCap && depth === this.depth - 1) return broadcast(scalar(1, "bool"), total.shape);
    const enough = greater(total, 1 - epsilon);
    return caps ? or(enough, less(reshape(caps, total.shape), depth + 2)) : enough;
  }

  accumulate(y: Tensor, { state, total }: Accumulated, { weight, running }: Share): Accumulated {
    const { accumulate, halted } = this.options;
    const share = multiply(weight, y);
    if (accumulate === "blend") return { state: add(share, multiply(subtract(1, weight), state)), total };
    return { state: running && halted === "frozen" ? select(running, y, state) : y, total: add(total, share) };
  }

  apply(x: Tensor, context: HaltingContext): Deepened {
    let counters = this.start(x, context);
    let sums: Accumulated = { state: x, total: full(0, x.shape) };
    const probes: Record<string, Tensor> = {};
    const { keys, stepEmbedding, halted, accumulate, pads } = this.options;
    const depths = depthsOf({ order: this.#order, context, keys, moves: stepEmbedding });
    const all = accumulate === "weightedSum" && halted === "running";
    const caps = this.#caps(x, context);
    this.plan.forEach((_, depth) => {
      within(`depth ${depth}`, () => {
        const everyone = all || (depth === 0 && !(context.real && pads === "skip"));
        const running = everyone ? undefined : less(counters.halting, 1);
        const entering = this.entering(sums.state, depth);
        const { y, rows } = depths.only(entering, depth, running);
        const before = counters;
        const known = eachCounter((name) => rows.take(before[name]));
        const turn = this.turn(this.probability(y), known, depth, caps && rows.take(caps));
        const { state, total } = sums;
        const moved = this.accumulate(y, { state: rows.take(state), total: rows.take(total) }, turn);
        sums = { state: rows.put(state, moved.state), total: rows.put(total, moved.total) };
        counters = eachCounter((name) => rows.put(before[name], turn[name]));
        const step = `step${depth + 1}`;
        const put = (each: Tensor) => rows.put(full(0, [x.shape[0]!, 1]), each);
        const columns = { p: put(turn.probability), u: put(turn.weight), ...counters };
        for (const [name, each] of Object.entries(columns)) probes[`${step}.${name}`] = flat(each);
        probes[`${step}.block`] = rows.put(entering, y);
        probes[`${step}.state`] = sums.state;
      });
    });
    return this.finish(sums, counters, context, probes);
  }

  /** The cap that training grows, or those that the context has. */
  #caps(x: Tensor, { mode, caps }: HaltingContext): Tensor | undefined {
    if (!mode.trains || !this.scalars.haltingCap) return caps;
    const growing = broadcast(cast(cap, "int"), [x.shape[0]!, 1]);
    return caps ? minimum(growing, reshape(caps, growing.shape)) : growing;
  }

  finish(
    { state, total }: Accumulated,
    counters: Counters,
    context: HaltingContext,
    steps: Readonly<Record<string, Tensor>>,
  ): Deepened {
    const real = context.real && reshape(context.real, counters.halting.shape);
    const probes = { ...steps, ...masked(counters, real) };
    const hidden = this.options.accumulate === "blend" ? state : total;
    if (this.options.ponder === 0) return { hidden, probes };
    return { hidden, ...this.#penalty(counters, real, context), probes };
  }

  /** τ · the mean over real tokens of N + R, or · the mean over texts of its sum. N is a count and has no gradient. */
  #penalty(
    counters: Counters,
    real: Tensor | undefined,
    { rows }: Context,
  ): Required<Pick<Deepened, "penalty">> & Pick<Deepened, "penaltyCount"> {
    const { ponder, ponderReduce } = this.options;
    const each = add(counters.updates, counters.remainders);
    const all = sum(real ? multiply(each, cast(real, "float")) : each);
    const tokens = real ? cast(real, "float") : full(1, each.shape);
    const count = sum(ponderReduce === "mean" ? tokens : full(1, [rows.batch]));
    const penalty = multiply(divide(all, count), ponder);
    const { ponderScale } = this.scalars;
    return {
      penalty: ponderScale ? multiply(penalty, ponderScale.input) : penalty,
      ...(real && ponderReduce === "mean" ? { penaltyCount: count } : {}),
    };
  }
}

/** The input `ponderScale` of update s, counted from 0: nothing for `from` updates, then it grows evenly to 1 over `warmup` more. */
export function ponderScale(warmup: number, from = 0): (step: number) => number {
  return (step) => {
    const into = step + 1 - from;
    return into <= 0 ? 0 : Math.min(1, into / warmup);
  };
}

/** The penalty's scale, where it is not whole from the start. */
function scalarsOf({ ponder, ponderFrom, ponderWarmup }: Required<HaltingOptions>): TrainingScalars {
  if (ponder === 0 || (ponderFrom === 0 && ponderWarmup === 0)) return {};
  const updates = (amount: number, total: number) => (amount < 1 ? amount * total : amount);
  const at: Course = (step, total) => ponderScale(updates(ponderWarmup, total), updates(ponderFrom, total))(step);
  return { ponderScale: { input: scale, at } };
}

/** The deepest depth of an update, where it grows. */
function capOf({ capFrom, capOver }: Required<HaltingOptions>, depth: number): TrainingScalars {
  if (capFrom === 0) return {};
  check("halting / capFrom", capFrom, whole(1, depth));
  return { haltingCap: { input: cap, at: loopCourse({ most: depth, from: capFrom, over: capOver }) } };
}

/** C → 1, with a bias that starts where it is told. */
export class HaltingUnit {
  readonly parameters: readonly [weight: Parameter, bias: Parameter];

  constructor(name: string, width: number, bias: number) {
    const weight = newParameter(`${name}.unit.weight`, [1, width], normal(0.02), "halting");
    this.parameters = [weight, newParameter(`${name}.unit.bias`, [1], () => Float32Array.of(bias), "halting")];
  }

  /** y [N, C] → probabilities [N, 1] */
  apply(y: Tensor): Tensor {
    const [weight, bias] = this.parameters;
    const logit = add(matmul(y, weight.tensor, { transposeB: true }), bias.tensor);
    // 1 / (1 + e^−x): the runtime's sigmoid is off by up to 1e-7, which the gradient of this one bias adds up.
    return divide(1, add(exp(negate(logit)), 1));
  }
}

function masked({ halting, remainders, updates }: Counters, real: Tensor | undefined): Record<string, Tensor> {
  const only = (x: Tensor) => (real ? multiply(x, cast(real, "float")) : x);
  return {
    halting: flat(halting),
    remainders: flat(only(remainders)),
    updates: flat(only(updates)),
    ran: flat(updates),
  };
}

const eachCounter = (of: (name: keyof Counters) => Tensor): Counters => {
  return { halting: of("halting"), remainders: of("remainders"), updates: of("updates") };
};

/** Halting probabilities of each token at each depth, [N, L], out of what `apply` probed; undefined where the depth is fixed. */
export function haltingTrace(probes: Deepened["probes"], depth: number): Tensor | undefined {
  const each = Array.from({ length: depth }, (_, i) => probes[`step${i + 1}.p`]).filter((p) => p !== undefined);
  if (each.length < depth) return undefined;
  const columns = each.map((p) => reshape(p, [p.shape[0]!, 1]));
  return concat(columns, 1);
}

const flat = (x: Tensor) => reshape(x, [x.shape[0]!]);
