/** Routed depth: a router sends tokens as deep as it finds worth while, each by itself at the entrance or the best ones at every depth. */
import { reject, rejectShape } from "../base/errors.ts";
import {
  anything,
  check,
  checkOptions,
  fraction,
  number,
  oneOf,
  type Rules,
  required,
  text,
  whole,
} from "../base/options.ts";
import {
  add,
  and,
  argMax,
  broadcast,
  cast,
  constant,
  divide,
  equal,
  exp,
  full,
  greater,
  less,
  log,
  matmul,
  maximum,
  minimum,
  multiply,
  negate,
  oneHot,
  or,
  pick,
  reshape,
  scalar,
  select,
  slice,
  softmax,
  subtract,
  sum,
  type Tensor,
  within,
} from "../graph/index.ts";
import { type Block, type Context, newParameter, normal, type Parameter, zeros } from "../nn/index.ts";
import { checkPlan } from "./fixed.ts";
import type { Plan } from "./plan.ts";
import type { Deepened, DepthPolicy } from "./policy.ts";
import { meanReal } from "./real.ts";
import { cachesWith, type Depths, depthsOf, type SharedKeys, sharedKeys } from "./running.ts";

/** Who decides, and what keeps decisions spread. */
export interface RoutedOptions {
  /** Width C of the hidden state. */
  width: number;
  /** `token`: each token's depth is the most probable of softmax(W·x + b), decided at the entrance. `expert`: at each depth those with the highest scores go on. */
  choice: "token" | "expert";
  /** With `expert`: fraction of a text's tokens that run at each depth, in training; where it is 1 all do, without a router. Default: from 1 evenly down to 1 / depth. */
  capacity?: readonly number[] | undefined;
  /** With `expert`, in use: a token goes on where its score exceeds this, which no later token can change. Default: 0.5. */
  threshold?: number | undefined;
  /** Factor of the router's weight on what a block changes. Default: 1. */
  scale?: number | undefined;
  /** With `token`: factor of depth · Σ fraction · mean probability, which is least when all depths are chosen alike. Default: 0.01. */
  balance?: number | undefined;
  /** With `expert`: factor of the cross-entropy between scores and who was chosen, which teaches the threshold. Default: 0.01. */
  auxiliary?: number | undefined;
  /** What tokens that stopped show to those that go on, in training and in use. Default: own. */
  keys?: SharedKeys | undefined;
  /** Prefix of the names of the policy's own parameters. Default: router. */
  name?: string | undefined;
}

const rules: Rules<RoutedOptions> = {
  width: required(whole(1)),
  choice: required(oneOf(["token", "expert"])),
  capacity: anything,
  threshold: fraction,
  scale: number({ above: 0 }),
  balance: number({ from: 0 }),
  auxiliary: number({ from: 0 }),
  keys: sharedKeys,
  name: text,
};

/** What may be set when a routed model is used. */
export interface RoutedUse {
  /** Deepest depth that tokens run to. */
  most?: number | undefined;
  /** With expert choice: see the option of that name. */
  threshold?: number | undefined;
}

/** Routed depth; its weights serve any cap and threshold. */
export interface RoutedPolicy extends DepthPolicy {
  at(use: RoutedUse): RoutedPolicy;
}

/** Tokens run through a plan as deep as a router sends them: `routed(blocks, plan, { width, choice: "token" })`. */
export function routed(blocks: readonly Block[], plan: Plan, options: RoutedOptions): RoutedPolicy {
  checkPlan(plan, blocks.length);
  checkOptions("routed", options, rules);
  const given = { blocks, plan, options, most: plan.length };
  return options.choice === "token" ? tokenChoice(given) : expertChoice(given);
}

interface Given {
  readonly blocks: readonly Block[];
  readonly plan: Plan;
  readonly options: RoutedOptions;
  readonly most: number;
}

/** What both choices are, but for how they apply; `router` belongs to all of them that share weights. */
function policyOf(
  given: Given,
  router: Router,
  apply: (run: Run, x: Tensor, context: Context) => Deepened,
): RoutedPolicy {
  const { blocks, plan, most, options } = given;
  const order = plan.map((i) => blocks[i]!);
  const again = (other: Given) =>
    options.choice === "token" ? tokenChoice(other, router) : expertChoice(other, router);
  return {
    parameters: [...blocks, router].flatMap(({ parameters }) => [...parameters]),
    depth: most,
    unique: new Set(plan.slice(0, most)).size,
    caches: cachesWith(order.slice(0, most), options.keys ?? "own"),
    apply: (x, context) => {
      const running = context.mode.trains ? order : order.slice(0, most);
      const depths = depthsOf({ order: running, context, whole: order, keys: options.keys });
      const run: Run = {
        depths: running.length,
        block: (state, t, ...rest) => within(`depth ${t}`, () => depths.run(state, t, ...rest)),
      };
      return apply(run, x, context);
    },
    shallower: (depth) => (depth < 1 ? undefined : again({ ...given, most: Math.min(depth, most) })),
    at: (use) => {
      checkOptions("routed / use", use, { most: whole(1, plan.length), threshold: fraction });
      const threshold = use.threshold ?? options.threshold;
      if (use.threshold !== undefined && options.choice === "token") refuseThreshold();
      return again({ ...given, most: use.most ?? most, options: { ...options, threshold } });
    },
  };
}

interface Run {
  readonly depths: number;
  /** See `Depths`. */
  readonly block: Depths["run"];
}

function refuseThreshold(): never {
  const remedy = "set most, the deepest depth";
  return reject({ who: "routed / use / threshold", needed: "expert choice", got: "token choice", remedy }, 2);
}

/** Logits of a token, one for each way it may go: W·x + b. */
class Router {
  readonly parameters: readonly [weight: Parameter, bias: Parameter];

  constructor(name: string, ways: number, width: number) {
    const weight = newParameter(`${name}.weight`, [ways, width], normal(0.02), "halting");
    this.parameters = [weight, newParameter(`${name}.bias`, [ways], zeros, "halting")];
  }

  /** x [N, C] → [N, ways] */
  logits(x: Tensor): Tensor {
    const [weight, bias] = this.parameters;
    return add(matmul(x, weight.tensor, { transposeB: true }), bias.tensor);
  }

  /** One way's score: x [N, C] → [N, 1] */
  score(x: Tensor, way: number): Tensor {
    const [weight, bias] = this.parameters.map(({ tensor }) => slice(tensor, 0, way, way + 1)) as [Tensor, Tensor];
    return divide(1, add(exp(negate(add(matmul(x, weight, { transposeB: true }), bias))), 1));
  }
}

/** Towards the block's output, by the router's weight. */
const moved = (state: Tensor, y: Tensor, weight: Tensor) => add(state, multiply(weight, subtract(y, state)));

function tokenChoice(given: Given, known?: Router): RoutedPolicy {
  const { plan, most, options } = given;
  const { width, name = "router", scale = 1, balance = 0.01 } = options;
  const router = known ?? new Router(name, plan.length, width);
  return policyOf(given, router, ({ depths, block }, x, context) => {
    const { mode } = context;
    const probabilities = softmax(router.logits(x)); // [N, L]
    const preferred = argMax(probabilities);
    const column = [x.shape[0]!, 1];
    const chosen = reshape(minimum(preferred, scalar((mode.trains ? plan.length : most) - 1, "int")), column);
    const weight = multiply(reshape(pick(probabilities, preferred), column), scale);
    let state = x;
    for (let depth = 0; depth < depths; depth++) {
      const [before, goes] = [state, depth === 0 ? undefined : greater(chosen, scalar(depth - 1, "int"))];
      state = block(before, depth, goes, (y, take) => {
        return select(equal(take(chosen), scalar(depth, "int")), moved(take(before), y, take(weight)), y);
      });
    }
    const probes = { updates: reshape(add(cast(chosen, "float"), 1), [x.shape[0]!]) };
    if (balance === 0) return { hidden: state, probes };
    const shares = meanReal(oneHot(preferred, plan.length), context, { axes: [0] });
    const uneven = sum(multiply(shares, meanReal(probabilities, context, { axes: [0] })));
    return { hidden: state, penalty: multiply(uneven, balance * plan.length), probes };
  });
}

function expertChoice(given: Given, known?: Router): RoutedPolicy {
  const { plan, options } = given;
  const { width, name = "router", scale = 1, auxiliary = 0.01, threshold = 0.5 } = options;
  const capacity = options.capacity ?? plan.map((_, depth) => (plan.length - depth) / plan.length);
  checkCapacity(capacity, plan.length);
  const ways = new Map(
    plan.flatMap((_, depth) => (capacity[depth]! < 1 ? [depth] : [])).map((depth, way) => [depth, way]),
  );
  const router = known ?? new Router(name, ways.size, width);
  return policyOf(given, router, ({ depths, block }, x, context) => {
    const column = [x.shape[0]!, 1];
    const { real } = context;
    const counts = real ? reshape(real, column) : broadcast(scalar(1, "bool"), column);
    let [state, updates, active]: Tensor[] = [x, full(0, column), counts];
    let everyone = !real;
    const misses: Tensor[] = [];
    for (let depth = 0; depth < depths; depth++) {
      const way = ways.get(depth);
      if (way === undefined) {
        state = block(state!, depth, everyone ? undefined : active, (y) => y);
      } else {
        const score = router.score(state!, way);
        const chosen: Tensor = context.mode.trains
          ? highest(select(active!, score, -1), capacity[depth]!, context)
          : greater(score, threshold);
        const goes = and(active!, chosen);
        misses.push(meanReal(select(active!, missed(score, goes), 0), context));
        const before = state!;
        state = block(before, depth, goes, (y, take) => moved(take(before), y, multiply(take(score), scale)));
        [active, everyone] = [goes, false];
      }
      updates = add(updates!, cast(active!, "float"));
    }
    const deepened = { hidden: state!, probes: { updates: reshape(updates!, [x.shape[0]!]) } };
    if (auxiliary === 0 || misses.length === 0) return deepened;
    return {
      ...deepened,
      penalty: multiply(
        misses.reduce((a, b) => add(a, b)),
        auxiliary,
      ),
    };
  });
}

function checkCapacity(capacity: readonly number[], depth: number): void {
  capacity.forEach((each, i) => {
    check(`routed / capacity ${i}`, each, number({ above: 0, to: 1 }));
  });
  const routes = capacity.some((each) => each < 1);
  if (capacity.length === depth && routes) return;
  const needed = `${depth} fractions, one per depth and not all of them 1`;
  reject({ who: "routed / capacity", needed, got: `[${capacity}]` }, 2);
}

/** −log of how probable the score held what came true: [N, 1] */
function missed(score: Tensor, came: Tensor): Tensor {
  return negate(log(maximum(select(came, score, subtract(1, score)), 1e-9)));
}

/** The so many highest of each text's real tokens, bool [B·T, 1]; of equals the earlier. A token's rank is the number of those before it in that order. */
function highest(scores: Tensor, capacity: number, { rows: { batch, length }, real }: Context): Tensor {
  if (typeof length !== "number") {
    return rejectShape({
      who: "routed / expert choice",
      needed: "texts of a known length in training",
      got: `${length}`,
    });
  }
  // A rank is below ⌈c·n⌉ where it is below c·n: [B, 1].
  const count = real
    ? multiply(sum(cast(reshape(real, [batch, length]), "float"), { axes: [1], keepDims: true }), capacity)
    : Math.ceil(capacity * length);
  const [own, others] = [reshape(scores, [batch, length, 1]), reshape(scores, [batch, 1, length])];
  const isEarlier = Uint8Array.from({ length: length ** 2 }, (_, i) => (i % length < Math.floor(i / length) ? 1 : 0));
  const ahead = or(greater(others, own), and(equal(others, own), constant(isEarlier, [length, length], "bool")));
  const rank = sum(cast(ahead, "float"), { axes: [2] }); // [B, T]
  return reshape(less(rank, count), scores.shape);
}
