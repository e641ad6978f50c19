/** Updates of weights as parts of a graph: what the kernels do, for devices on which weights and moments stay. */
import { adamConstants } from "../engine/updates.ts";
import { add, divide, greater, multiply, select, sqrt, square, subtract, sum, type Tensor } from "../graph/index.ts";
import { checkMatrix, stepLength } from "./muon.ts";
import type { UpdateRule } from "./optimiser.ts";
import { orthogonalise } from "./orthogonal.ts";

/** A weight with what moves it. */
export interface Moved {
  readonly weight: Tensor;
  readonly gradient: Tensor;
  readonly moments: readonly Tensor[];
}

type Scalars<T> = Readonly<Record<string, T>>;
type Kind = UpdateRule["kind"];
type RuleOf<K extends Kind> = Extract<UpdateRule, { kind: K }>;

interface Written<K extends Kind> {
  /** Numbers of one update, by name; each is fed as a scalar. */
  scalars(rule: RuleOf<K>, at: { readonly rate: number; readonly step: number }): Scalars<number>;
  /** The weight and its moments afterwards. */
  update(rule: RuleOf<K>, moved: Moved, scalars: Scalars<Tensor>): Omit<Moved, "gradient">;
}

/** a · x + b · y. */
const blend = (a: number | Tensor, x: Tensor, b: number | Tensor, y: Tensor) => add(multiply(x, a), multiply(y, b));

/** g + decay · w. */
const slopeOf = ({ weight, gradient }: Moved, decay: number) =>
  decay === 0 ? gradient : add(gradient, multiply(weight, decay));

interface Betas {
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
}

/** Both moments after a slope, and m / (√v · root + ε). */
function momentsAfter({ moments: [m, v] }: Moved, slope: Tensor, { beta1, beta2, epsilon }: Betas, root: Tensor) {
  const first = blend(beta1, m!, 1 - beta1, slope);
  const second = blend(beta2, v!, 1 - beta2, square(slope));
  return { moments: [first, second], way: divide(first, add(multiply(sqrt(second), root), epsilon)) };
}

const norm = (x: Tensor) => sqrt(sum(square(x)));

/** |w| / |r| where both are above 0, else 1. */
function trustRatio(weight: Tensor, way: Tensor): Tensor {
  const [length, step] = [norm(weight), norm(way)];
  const isGood = greater(multiply(length, step), 0);
  return select(isGood, divide(length, select(isGood, step, 1)), 1);
}

/** The kernels' formulas (kernels/optimisers.ts) and Muon's, one row each. */
const rules: { readonly [K in Kind]: Written<K> } = {
  adam: {
    scalars: (rule, { rate, step }) => {
      const { correction, root } = adamConstants({ ...rule, rate, step });
      return { rate: rate * correction, root, decay: rule.decoupled ? rate * rule.weightDecay : 0 };
    },
    update: (rule, moved, { rate, root, decay }) => {
      const slope = slopeOf(moved, rule.decoupled ? 0 : rule.weightDecay);
      const { moments, way } = momentsAfter(moved, slope, rule, root!);
      const decays = rule.decoupled && rule.weightDecay > 0;
      const change = decays ? blend(rate!, way, decay!, moved.weight) : multiply(way, rate!);
      return { weight: subtract(moved.weight, change), moments };
    },
  },
  lamb: {
    scalars: (rule, { rate, step }) => {
      const { correction, root } = adamConstants({ ...rule, rate, step });
      return { rate, correction, root };
    },
    update: (rule, moved, { rate, correction, root }) => {
      const { moments, way } = momentsAfter(moved, moved.gradient, rule, root!);
      const whole = blend(correction!, way, rule.weightDecay, moved.weight);
      const step = rule.adapt ? multiply(rate!, trustRatio(moved.weight, whole)) : rate!;
      return { weight: subtract(moved.weight, multiply(whole, step)), moments };
    },
  },
  sgd: {
    // The first velocity is the gradient itself, undamped; without momentum there is none to damp.
    scalars: ({ momentum, dampening }, { rate, step }) => ({
      rate,
      part: momentum === 0 || step === 1 ? 1 : 1 - dampening,
    }),
    update: ({ momentum, weightDecay, nesterov }, moved, { rate, part }) => {
      const slope = multiply(slopeOf(moved, weightDecay), part!);
      const velocity = add(multiply(moved.moments[0]!, momentum), slope);
      const way = nesterov ? add(slope, multiply(velocity, momentum)) : velocity;
      return { weight: subtract(moved.weight, multiply(way, rate!)), moments: [velocity] };
    },
  },
  muon: {
    scalars: ({ weightDecay }, { rate }) => ({ rate, keep: 1 - rate * weightDecay }),
    update: ({ momentum, nesterov, iterations }, { weight, gradient, moments }, { rate, keep }) => {
      const shape = checkMatrix(weight.shape as readonly number[]);
      const velocity = blend(momentum, moments[0]!, 1 - momentum, gradient);
      const ahead = nesterov ? blend(momentum, velocity, 1 - momentum, gradient) : velocity;
      const way = multiply(orthogonalise(ahead, iterations), stepLength(shape));
      return { weight: subtract(multiply(weight, keep!), multiply(way, rate!)), moments: [velocity] };
    },
  },
};

/** Numbers that an update by a rule is fed. */
export const ruleScalars = (rule: UpdateRule, at: { readonly rate: number; readonly step: number }): Scalars<number> =>
  (rules[rule.kind] as Written<Kind>).scalars(rule, at);

/** A weight and its moments after an update by a rule. */
export const ruleUpdate = (rule: UpdateRule, moved: Moved, scalars: Scalars<Tensor>): Omit<Moved, "gradient"> =>
  (rules[rule.kind] as Written<Kind>).update(rule, moved, scalars);
