/** Looped depth: a prelude, a core that is passed through again and again, and a coda; the prelude's state is fed to every loop. */
import { reject } from "../base/errors.ts";
import { anything, check, checkOptions, oneOf, type Rules, required, text, whole } from "../base/options.ts";
import {
  add,
  concat,
  exp,
  full,
  greater,
  input,
  log,
  multiply,
  negate,
  select,
  stopGradient,
  type Tensor,
  within,
} from "../graph/index.ts";
import {
  type Block,
  type Context,
  type Initial,
  Linear,
  newParameter,
  ones,
  type Parameter,
  zeros,
} from "../nn/index.ts";
import { cachesOf, contextsOf } from "./caches.ts";
import { checkAtMost, checkLoops, type Loops, loopCourse } from "./loops.ts";
import type { Deepened, DepthPolicy, TrainingScalars } from "./policy.ts";

/** How the prelude's state e joins the loop's state s before each loop. */
export type Injection = keyof typeof injections;

/** Which blocks loop, how often, and what they are fed. */
export interface LoopedOptions {
  /** Blocks that run once, before the loops. */
  prelude?: readonly Block[] | undefined;
  /** Blocks that are passed through in every loop. */
  core: readonly Block[];
  /** Blocks that run once, after the loops. */
  coda?: readonly Block[] | undefined;
  /** A count, or how it changes in training; use then runs the mean, rounded (without one, the most). */
  loops: number | Loops;
  /** Width C of the hidden state. */
  width: number;
  /**
   * `none`: s, which starts as e; the others start at 0. `add`: s + e. `linear`: W·[s; e] + c, at first s + e. `diagonal`: a·s + Δ·b·e with
   * Δ = log(1 + exp δ) and a = exp(−Δ·exp A), between 0 and 1 for any weights, so that loops cannot blow up. Default: none.
   */
  injection?: Injection | undefined;
  /** Gradients go through so many of the last loops only. Default: all. */
  gradientLoops?: number | undefined;
  /** Prefix of the names of the policy's own parameters. Default: looped. */
  name?: string | undefined;
}

const rules: Rules<LoopedOptions> = {
  prelude: anything,
  core: required({ needed: "at least one block", fits: (blocks) => Array.isArray(blocks) && blocks.length > 0 }),
  coda: anything,
  loops: required(anything),
  width: required(whole(1)),
  injection: oneOf(["none", "add", "linear", "diagonal"]),
  gradientLoops: whole(1),
  name: text,
};

interface Injector {
  readonly parameters: readonly Parameter[];
  apply(state: Tensor, entered: Tensor): Tensor;
}

const injections = {
  none: (): Injector => ({ parameters: [], apply: (state) => state }),
  add: (): Injector => ({ parameters: [], apply: (state, entered) => add(state, entered) }),
  linear: linearInjection,
  diagonal: diagonalInjection,
} as const;

/** Two identities side by side, [C, 2C]. */
const bothAsTheyAre: Initial = ([width]) =>
  Float32Array.from({ length: 2 * width! ** 2 }, (_, i) =>
    (i % (2 * width!)) % width! === Math.floor(i / (2 * width!)) ? 1 : 0,
  );

function linearInjection(name: string, width: number): Injector {
  const adapter = new Linear(`${name}.adapter`, { in: 2 * width, out: width, weight: bothAsTheyAre });
  return {
    parameters: adapter.parameters,
    apply: (state, entered) => adapter.apply(concat([state, entered], 1)),
  };
}

function diagonalInjection(name: string, width: number): Injector {
  const vector = (part: string, initial: Initial) => newParameter(`${name}.${part}`, [width], initial);
  const [decay, step, entry] = [vector("decay", zeros), vector("step", zeros), vector("entry", ones)];
  return {
    parameters: [decay, step, entry],
    apply: (state, entered) => {
      const size = log(add(exp(step.tensor), 1)); // Δ
      const kept = exp(negate(multiply(size, exp(decay.tensor)))); // a
      return add(multiply(kept, state), multiply(multiply(size, entry.tensor), entered));
    },
  };
}

/** One for all: policies of one model loop together. */
const drawnLoops = input("loops", []);

/** Looped depth; its weights serve any count of loops. */
export interface LoopedPolicy extends DepthPolicy {
  /** Loops that run in use. */
  readonly loops: number;
  /** The same weights with another count of loops, also one that training has never seen. */
  at(loops: number): LoopedPolicy;
}

/** prelude → core, `loops` times → coda: `looped({ prelude: [a], core: [b, c], coda: [d], loops: 4, width, injection: "add" })`. */
export function looped(options: LoopedOptions): LoopedPolicy {
  checkOptions("looped", options, rules);
  const { loops, gradientLoops, injection = "none", name = "looped", width } = options;
  if (typeof loops === "number") check("looped / loops", loops, whole(1));
  else checkLoops("looped / loops", loops);
  const use = typeof loops === "number" ? loops : Math.round(loops.mean ?? loops.most);
  const most = typeof loops === "number" ? loops : loops.most;
  if (gradientLoops !== undefined && injection === "none") {
    const remedy = "choose an injection, so that what comes before the loops is trained too";
    reject({ who: "looped / gradientLoops", needed: "an injection", got: "none", remedy }, 2);
  }
  checkAtMost("looped / gradientLoops", gradientLoops, most);
  return new Looped(options, injections[injection](name, width), use, most);
}

class Looped implements LoopedPolicy {
  readonly loops: number;
  readonly scalars: TrainingScalars;
  readonly #options: LoopedOptions;
  readonly #injector: Injector;

  /** The most loops that weights were made for. */
  readonly #made: number;

  constructor(options: LoopedOptions, injector: Injector, loops: number, made: number) {
    this.loops = loops;
    this.#made = made;
    this.#options = options;
    this.#injector = injector;
    const changes = typeof options.loops === "object" && (options.loops.mean ?? options.loops.from) !== undefined;
    this.scalars = changes ? { loops: { input: drawnLoops, at: loopCourse(options.loops as Loops) } } : {};
  }

  shallower(depth: number): DepthPolicy | undefined {
    const { prelude = [], core, coda = [] } = this.#options;
    const loops = Math.floor((depth - prelude.length - coda.length) / core.length);
    return loops < 1 ? undefined : this.at(Math.min(loops, this.loops));
  }

  at(loops: number): LoopedPolicy {
    check("looped / loops", loops, whole(1));
    return new Looped({ ...this.#options, loops }, this.#injector, loops, this.#made);
  }

  get parameters(): Parameter[] {
    const { prelude = [], core, coda = [] } = this.#options;
    return [...new Set([...prelude, ...core, ...coda, this.#injector].flatMap(({ parameters }) => [...parameters]))];
  }

  get depth(): number {
    return this.#order(this.#most).length;
  }

  get unique(): number {
    return new Set(this.#order(1)).size;
  }

  get caches(): number | undefined {
    return cachesOf(this.#order(this.loops));
  }

  /** Loops in the graph of training. */
  get #most(): number {
    const { loops } = this.#options;
    return typeof loops === "number" ? loops : loops.most;
  }

  #order(loops: number): Block[] {
    const { prelude = [], core, coda = [] } = this.#options;
    return [...prelude, ...Array.from({ length: loops }, () => core).flat(), ...coda];
  }

  apply(x: Tensor, context: Context): Deepened {
    const { prelude = [], core, injection = "none" } = this.#options;
    const { trains } = context.mode;
    const loops = trains ? this.#most : this.loops;
    const order = this.#order(loops);
    const contexts = contextsOf(context, order, this.#order(Math.max(loops, this.#made)));
    const run = (state: Tensor, from: number, to: number) =>
      order.slice(from, to).reduce((now, block, i) => {
        return within(`depth ${from + i}`, () => block.apply(now, contexts[from + i]!));
      }, state);

    const entered = run(x, 0, prelude.length);
    let state = injection === "none" ? entered : full(0, entered.shape);
    for (let loop = 0, depth = prelude.length; loop < loops; loop++, depth += core.length) {
      const fed = this.#injector.apply(trains ? this.#cut(state, loop) : state, entered);
      const y = run(fed, depth, depth + core.length);
      state = trains && this.scalars.loops ? select(greater(drawnLoops, loop), y, state) : y;
    }
    return { hidden: run(state, prelude.length + loops * core.length, order.length), probes: {} };
  }

  /** The state that a loop starts from; no gradient passes where so many loops or more are still to come. */
  #cut(state: Tensor, loop: number): Tensor {
    const { gradientLoops } = this.#options;
    if (gradientLoops === undefined || loop === 0) return state;
    if (!this.scalars.loops) return loop === this.#most - gradientLoops ? stopGradient(state) : state;
    return select(greater(drawnLoops, loop + gradientLoops - 1), stopGradient(state), state);
  }
}
