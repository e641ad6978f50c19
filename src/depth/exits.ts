/** Exits: every token may leave at any depth, by a trained gate or by a rule that needs no training; all depths are computed. */
import { reject } from "../base/errors.ts";
import { anything, checkOptions, number, oneOf, type Rules, required, text, truth, whole } from "../base/options.ts";
import {
  add,
  argMax,
  cast,
  equal,
  full,
  greater,
  less,
  log,
  logSoftmax,
  maximum,
  mean,
  multiply,
  negate,
  reshape,
  select,
  softmax,
  sqrt,
  square,
  subtract,
  sum,
  type Tensor,
  within,
} from "../graph/index.ts";
import type { Block, Context, Parameter } from "../nn/index.ts";
import { cachesOf, contextsOf } from "./caches.ts";
import { checkPlan } from "./fixed.ts";
import { HaltingUnit } from "./halting.ts";
import type { Plan } from "./plan.ts";
import type { Deepened, DepthPolicy, Exit } from "./policy.ts";

/**
 * Where a token leaves. `last`: at the last exit. Of a trained gate: `weighted`, the mean of all states by their probabilities, and `quantile`, the first exit
 * at which probabilities add up to `level`. Without one: `difference`, ‖h − before‖ / ‖h‖ < level; `agreement`, the most probable next
 * token is the same at `level` exits in a row after another; `entropy` of the next token < level, in nats.
 */
export interface ExitRule {
  readonly kind: keyof typeof leaving | "last" | "weighted";
  readonly level?: number | undefined;
}

/** Where exits are, and who leaves. */
export interface ExitsOptions {
  /** Width C of the hidden state. */
  width: number;
  /** Depths from one exit to the next; there is always one at the end. Default: 1. */
  every?: number | undefined;
  /** Whether a gate is trained: λ = sigmoid(w·h + b) at each exit, and p = λ·Π(1 − λ before), the last taking what is left. Default: false. */
  gate?: boolean | undefined;
  /** Factor β of the entropy of p, which is subtracted from the loss. Default: 0.05. */
  entropy?: number | undefined;
  /** First bias of the gate. Default: 0. */
  biasInitial?: number | undefined;
  /** In use. Default: quantile at 0.5 with a gate, otherwise last. */
  rule?: ExitRule | undefined;
  /** Prefix of the names of the policy's own parameters. Default: exits. */
  name?: string | undefined;
}

const rules: Rules<ExitsOptions> = {
  width: required(whole(1)),
  every: whole(1),
  gate: truth,
  entropy: number({ from: 0 }),
  biasInitial: number(),
  rule: anything,
  name: text,
};

/** What a rule may look at, at one exit. */
interface View {
  readonly state: Tensor;
  /** State at the exit before, at first what came in. */
  readonly before: Tensor;
  /** Most probable next tokens at the exits before. */
  readonly choices: Tensor[];
  /** Of all exits up to this one: [N, 1]. */
  readonly cumulated: Tensor | undefined;
  scores(state: Tensor): Tensor;
}

const norm = (x: Tensor) => sqrt(sum(square(x), { axes: [1], keepDims: true }));

/** Who leaves at an exit, bool [N, 1], by kind of rule. */
const leaving = {
  quantile: ({ cumulated }: View, level = 0.5) => greater(cumulated!, level),
  difference: ({ state, before }: View, level = 0.1) => {
    return less(norm(subtract(state, before)), multiply(norm(state), level));
  },
  agreement: ({ state, choices, scores }: View, level = 1) => {
    choices.push(argMax(scores(state)));
    const last = choices.slice(-1 - level);
    if (last.length <= level) return less(full(0, [state.shape[0]!, 1]), 0);
    const same = last.slice(1).map((choice) => cast(equal(choice, last[0]!), "float"));
    return reshape(
      greater(
        same.reduce<Tensor>((a, b) => multiply(a, b), full(1, [state.shape[0]!])),
        0,
      ),
      [state.shape[0]!, 1],
    );
  },
  entropy: ({ state, scores }: View, level = 1) => {
    const logits = scores(state);
    return less(negate(sum(multiply(softmax(logits), logSoftmax(logits)), { axes: [1], keepDims: true })), level);
  },
} as const;

const gated = new Set<string>(["weighted", "quantile"]);
const ruleRules: Rules<ExitRule> = {
  kind: required(oneOf(["last", "weighted", ...Object.keys(leaving)])),
  level: number({ from: 0 }),
};

function checkRule(rule: ExitRule, gate: boolean): void {
  checkOptions("exits / rule", rule, ruleRules);
  if (gate || !gated.has(rule.kind)) return;
  const remedy = "train with gate: true, or choose difference, agreement or entropy";
  reject({ who: "exits / rule", needed: "a rule that needs no gate", got: rule.kind, remedy }, 2);
}

/** Depth with exits; its weights serve any rule. */
export interface ExitsPolicy extends DepthPolicy {
  readonly rule: ExitRule;
  /** The same weights under another rule. */
  at(rule: ExitRule): ExitsPolicy;
}

/** Blocks in the order of a plan with exits between: `exits(blocks, plan, { width, gate: true })`. Without a gate its weights are those of `fixed`. */
export function exits(blocks: readonly Block[], plan: Plan, options: ExitsOptions): ExitsPolicy {
  checkPlan(plan, blocks.length);
  checkOptions("exits", options, rules);
  const { gate = false, name = "exits", width, biasInitial = 0 } = options;
  const unit = gate ? new HaltingUnit(name, width, biasInitial) : undefined;
  return new Exits(blocks, plan, options, unit);
}

class Exits implements ExitsPolicy {
  readonly rule: ExitRule;
  readonly parameters: readonly Parameter[];
  readonly depth: number;
  readonly unique: number;
  readonly caches: number | undefined;
  readonly #parts: readonly [blocks: readonly Block[], plan: Plan];
  readonly #order: readonly Block[];
  readonly #options: ExitsOptions;
  readonly #unit: HaltingUnit | undefined;

  constructor(blocks: readonly Block[], plan: Plan, options: ExitsOptions, unit: HaltingUnit | undefined) {
    this.rule = options.rule ?? (unit ? { kind: "quantile" } : { kind: "last" });
    checkRule(this.rule, unit !== undefined);
    this.#parts = [blocks, plan];
    this.#options = options;
    this.#unit = unit;
    this.#order = plan.map((i) => blocks[i]!);
    this.parameters = [...blocks, ...(unit ? [unit] : [])].flatMap(({ parameters }) => [...parameters]);
    this.depth = plan.length;
    this.unique = blocks.length;
    this.caches = cachesOf(this.#order);
  }

  at(rule: ExitRule): ExitsPolicy {
    return new Exits(...this.#parts, { ...this.#options, rule }, this.#unit);
  }

  apply(x: Tensor, context: Context): Deepened {
    const contexts = contextsOf(context, this.#order);
    const { every = 1 } = this.#options;
    const states: { readonly depth: number; readonly state: Tensor }[] = [];
    this.#order.reduce((now, block, i) => {
      const state = within(`depth ${i}`, () => block.apply(now, contexts[i]!));
      if ((i + 1) % every === 0 || i === this.depth - 1) states.push({ depth: i + 1, state });
      return state;
    }, x);
    const list = this.#probabilities(states.map(({ state }) => state));
    if (context.mode.trains) return this.#trained(list, states.at(-1)!.state);
    const { kind } = this.rule;
    const probes = Object.fromEntries(
      list.map(({ probability }, i) => [`exit${states[i]!.depth}.p`, flat(probability)]),
    );
    if (kind === "weighted")
      return { hidden: weighted(list), probes: { ...probes, updates: flat(this.#meanDepth(list, states)) } };
    return this.#left(x, states, list, context, probes);
  }

  /** p of each exit, none without a gate. */
  #probabilities(states: readonly Tensor[]): Exit[] {
    if (!this.#unit) return [];
    let left: Tensor = full(1, [states[0]!.shape[0]!, 1]);
    return states.map((hidden, i) => {
      if (i === states.length - 1) return { hidden, probability: left };
      const gate = this.#unit!.apply(hidden);
      const probability = multiply(left, gate);
      left = multiply(left, subtract(1, gate));
      return { hidden, probability };
    });
  }

  #trained(list: readonly Exit[], last: Tensor): Deepened {
    if (list.length === 0) return { hidden: last, probes: {} };
    const { entropy = 0.05 } = this.#options;
    const terms: Tensor[] = list.map(({ probability: p }) => multiply(p, log(maximum(p, 1e-9))));
    const penalty = multiply(mean(terms.reduce((a, b) => add(a, b))), entropy);
    return { hidden: weighted(list), exits: list, penalty, probes: {} };
  }

  #meanDepth(list: readonly Exit[], states: readonly { readonly depth: number }[]): Tensor {
    const each: Tensor[] = list.map(({ probability }, i) => multiply(probability, states[i]!.depth));
    return each.reduce((a, b) => add(a, b));
  }

  /** Every token's state where it leaves, and how deep that is. */
  #left(
    x: Tensor,
    states: readonly { readonly depth: number; readonly state: Tensor }[],
    list: readonly Exit[],
    context: Context,
    probes: Readonly<Record<string, Tensor>>,
  ): Deepened {
    const { kind, level } = this.rule;
    const count = x.shape[0]!;
    const { state: last, depth } = states.at(-1)!;
    const deepest = { hidden: last, updates: full(depth, [count, 1]) as Tensor };
    if (kind === "last") return { hidden: last, probes: { ...probes, updates: flat(deepest.updates) } };
    const choices: Tensor[] = [];
    let cumulated: Tensor | undefined;
    const leaves = states.slice(0, -1).map(({ state }, i) => {
      const p = list[i]?.probability;
      cumulated = p && cumulated ? add(cumulated, p) : p;
      const view = { state, before: states[i - 1]?.state ?? x, choices, cumulated, scores: scoresOf(context, kind) };
      return leaving[kind as keyof typeof leaving](view, level);
    });
    const { hidden, updates } = leaves.reduceRight((after, leave, i) => {
      const { state, depth: here } = states[i]!;
      return { hidden: select(leave, state, after.hidden), updates: select(leave, here, after.updates) };
    }, deepest);
    return { hidden, probes: { ...probes, updates: flat(updates) } };
  }
}

function scoresOf({ scores }: Context, kind: string): (state: Tensor) => Tensor {
  if (scores) return scores;
  const remedy = "choose difference, or a rule of a trained gate";
  return () =>
    reject({ who: `exits / ${kind}`, needed: "a model with a head that scores tokens", got: "none", remedy });
}

function weighted(list: readonly Exit[]): Tensor {
  const each: Tensor[] = list.map(({ hidden, probability }) => multiply(probability, hidden));
  return each.reduce((a, b) => add(a, b));
}

const flat = (x: Tensor) => reshape(x, [x.shape[0]!]);
