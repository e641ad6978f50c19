/** Exits: every token may leave at any depth, by a trained gate or by a rule that needs no training; then it runs on, or stops. */
import { reject, rejectOption } from "../base/errors.ts";
import { anything, checkOptions, number, oneOf, type Rules, required, text, truth, whole } from "../base/options.ts";
import {
  add,
  and,
  argMax,
  cast,
  concat,
  type Dim,
  equal,
  full,
  greater,
  less,
  log,
  logSoftmax,
  maximum,
  multiply,
  negate,
  not,
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
import { allRows, type Block, type Context, type Parameter, type SomeRows } from "../nn/index.ts";
import { beginning, checkPlan } from "./fixed.ts";
import { HaltingUnit } from "./halting.ts";
import type { Plan } from "./plan.ts";
import type { Deepened, DepthPolicy, Exit } from "./policy.ts";
import { meanReal } from "./real.ts";
import { cachesWith, type Depths, depthsOf, type SharedKeys, sharedKeys } from "./running.ts";

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
  /**
   * In use: tokens that leave stop, which saves their time, and this is what they show to those that go deeper. Left out: they run on to the
   * end for the others to look at, as all do in training. `first` counts in training too.
   */
  keys?: SharedKeys | undefined;
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
  keys: sharedKeys,
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
  /** What may be read off the scores of the next token: [N, V] → [N, …]; only of the tokens that run. */
  scored(read: (scores: Tensor) => Tensor): Tensor;
}

const norm = (x: Tensor) => sqrt(sum(square(x), { axes: [1], keepDims: true }));

/** Who leaves at an exit, bool [N, 1], by kind of rule. */
const leaving = {
  quantile: ({ cumulated }: View, level = 0.5) => greater(cumulated!, level),
  difference: ({ state, before }: View, level = 0.1) => {
    return less(norm(subtract(state, before)), multiply(norm(state), level));
  },
  agreement: ({ state, choices, scored }: View, level = 1) => {
    choices.push(scored(argMax));
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
  entropy: ({ scored }: View, level = 1) => {
    const surprise = (logits: Tensor) => multiply(softmax(logits), logSoftmax(logits));
    return less(
      scored((logits) => negate(sum(surprise(logits), { axes: [1], keepDims: true }))),
      level,
    );
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
  /** The same weights under another rule, and with other keys of tokens that left. */
  at(rule: ExitRule, keys?: SharedKeys): ExitsPolicy;
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
    if (options.keys && this.rule.kind === "weighted") refuseStopping();
    this.#parts = [blocks, plan];
    this.#options = options;
    this.#unit = unit;
    this.#order = plan.map((i) => blocks[i]!);
    this.parameters = [...blocks, ...(unit ? [unit] : [])].flatMap(({ parameters }) => [...parameters]);
    this.depth = plan.length;
    this.unique = blocks.length;
    this.caches = cachesWith(this.#order, options.keys ?? "own");
  }

  shallower(depth: number): DepthPolicy | undefined {
    return beginning(...this.#parts, depth);
  }

  at(rule: ExitRule, keys = this.#options.keys): ExitsPolicy {
    return new Exits(...this.#parts, { ...this.#options, rule, keys }, this.#unit);
  }

  apply(x: Tensor, context: Context): Deepened {
    const { keys } = this.#options;
    const depths = depthsOf({ order: this.#order, context, keys });
    if (keys && !context.mode.trains) return this.#stopped(x, depths, context);
    const states: { readonly depth: number; readonly state: Tensor }[] = [];
    this.#order.reduce((now, _, i) => {
      const state = within(`depth ${i}`, () => depths.run(now, i, undefined));
      if (this.#isExit(i)) states.push({ depth: i + 1, state });
      return state;
    }, x);
    const list = this.#probabilities(states.map(({ state }) => state));
    if (context.mode.trains) return this.#trained(list, states.at(-1)!.state, context);
    const { kind } = this.rule;
    const probes = Object.fromEntries(
      list.map(({ probability }, i) => [`exit${states[i]!.depth}.p`, flat(probability)]),
    );
    if (kind === "weighted")
      return { hidden: weighted(list), probes: { ...probes, updates: flat(this.#meanDepth(list, states)) } };
    return this.#left(x, states, list, context, probes);
  }

  #isExit(depth: number): boolean {
    const { every = 1 } = this.#options;
    return (depth + 1) % every === 0 || depth === this.depth - 1;
  }

  /** Every token runs until it leaves, and stays as it is. */
  #stopped(x: Tensor, depths: Depths, context: Context): Deepened {
    const column = [x.shape[0]!, 1];
    const probes: Record<string, Tensor> = {};
    const gate = this.#unit && openGate(this.#unit, column);
    const choices: Tensor[] = [];
    const ran: Tensor[] = [];
    let [state, before]: Tensor[] = [x, x];
    let running: Tensor | undefined;
    this.#order.forEach((_, depth) => {
      within(`depth ${depth}`, () => {
        state = depths.run(state!, depth, running, (y) => y);
        if (running) ran.push(running);
        if (this.rule.kind === "last" || !this.#isExit(depth) || depth === this.depth - 1) return;
        const passed = gate?.(state);
        if (passed) probes[`exit${depth + 1}.p`] = flat(passed.probability);
        const scored = scoredOn(depths.rows(running), state, context, this.rule.kind);
        const view: View = { state, before: before!, choices, cumulated: passed?.cumulated, scored };
        const stays = not(leaving[this.rule.kind as keyof typeof leaving](view, this.rule.level));
        running = running ? and(running, stays) : stays;
        before = state;
      });
    });
    const all = this.depth - ran.length;
    const updates =
      ran.length > 0 ? add(sum(cast(concat(ran, 1), "float"), { axes: [1] }), all) : full(all, [x.shape[0]!]);
    return { hidden: state!, probes: { ...probes, updates } };
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

  #trained(list: readonly Exit[], last: Tensor, context: Context): Deepened {
    if (list.length === 0) return { hidden: last, probes: {} };
    const { entropy = 0.05 } = this.#options;
    const terms: Tensor[] = list.map(({ probability: p }) => multiply(p, log(maximum(p, 1e-9))));
    const penalty = multiply(
      meanReal(
        terms.reduce((a, b) => add(a, b)),
        context,
      ),
      entropy,
    );
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
      const scored = scoredOn(allRows(context.rows), state, context, kind);
      const view = { state, before: states[i - 1]?.state ?? x, choices, cumulated, scored };
      return leaving[kind as keyof typeof leaving](view, level);
    });
    const { hidden, updates } = leaves.reduceRight((after, leave, i) => {
      const { state, depth: here } = states[i]!;
      return { hidden: select(leave, state, after.hidden), updates: select(leave, here, after.updates) };
    }, deepest);
    return { hidden, probes: { ...probes, updates: flat(updates) } };
  }
}

/** p of one exit after another, and their sum. */
function openGate(unit: HaltingUnit, column: readonly Dim[]) {
  let [left, cumulated]: Tensor[] = [full(1, column), full(0, column)];
  return (state: Tensor) => {
    const open = unit.apply(state);
    const probability = multiply(left!, open);
    left = multiply(left!, subtract(1, open));
    cumulated = add(cumulated!, probability);
    return { probability, cumulated };
  };
}

/** Reads scores of some rows; the others, which nobody asks about, have 0. */
function scoredOn(rows: SomeRows, state: Tensor, context: Context, kind: string): View["scored"] {
  const scores = scoresOf(context, kind);
  return (read) => {
    const found = cast(read(scores(rows.take(state))), "float");
    return rows.put(full(0, [state.shape[0]!, ...found.shape.slice(1)]), found);
  };
}

function refuseStopping(): never {
  const remedy = "leave keys out, or choose quantile";
  return reject({ who: "exits / keys", needed: "a rule by which tokens leave", got: "weighted", remedy }, 2);
}

function scoresOf({ scores }: Context, kind: string): (state: Tensor) => Tensor {
  if (scores) return scores;
  const remedy = "choose difference, or a rule of a trained gate";
  return () =>
    rejectOption({ who: `exits / ${kind}`, needed: "a model with a head that scores tokens", got: "none", remedy });
}

function weighted(list: readonly Exit[]): Tensor {
  const each: Tensor[] = list.map(({ hidden, probability }) => multiply(probability, hidden));
  return each.reduce((a, b) => add(a, b));
}

const flat = (x: Tensor) => reshape(x, [x.shape[0]!]);
