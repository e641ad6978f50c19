/** The graph of a training step that updates its own weights: gradients, clipping and optimisers in one program, for devices that keep them. */
import type { Stays } from "../engine/engine.ts";
import {
  add,
  divide,
  greater,
  input,
  maximum,
  minimum,
  multiply,
  negate,
  scalar,
  scatterAdd,
  select,
  simplifyNamed,
  sqrt,
  square,
  sum,
  type Tensor,
} from "../graph/index.ts";
import { ruleScalars, ruleUpdate } from "./graph-updates.ts";
import type { Group, ParameterTensor } from "./memory.ts";
import { gradientName, type StepGraph, stepGraph } from "./step-graph.ts";
import { carriedName, extrasOf, gradientOptions, type StepOptions } from "./step-options.ts";

/** A program of the step, and which of its outputs become inputs of the next run. */
export interface DeviceProgram {
  readonly outputs: Readonly<Record<string, Tensor>>;
  readonly stays: Stays;
}

/** One program where one batch makes an update; two where batches are added up first. */
export interface DeviceGraph {
  readonly pass: DeviceProgram;
  readonly update: DeviceProgram | undefined;
}

const nameOf = ({ attributes }: ParameterTensor) => attributes.name;
/** Where the sum of gradients of several batches stays. */
export const sumName = (parameter: ParameterTensor): string => `sum of gradients of ${nameOf(parameter)}`;
export const momentName = (moment: string, parameter: ParameterTensor): string => `${moment} ${nameOf(parameter)}`;
const scalarName = (group: number, name: string) => `update ${group} ${name}`;
/** What a sum of gradients keeps (0 for the first batch, then 1), and the share of each batch. */
export const [KEEP, SHARE] = ["update keep", "update share"] as const;
const ACTIVE = "active";

/** The programs of a step; every optimiser has a rule. */
export async function deviceGraph(options: StepOptions): Promise<DeviceGraph> {
  const { loss, groups, carried = [], accumulate = 1 } = options;
  const parameters = groups.flatMap((group) => group.parameters);
  const extras = extrasOf(options);
  const plan = stepGraph(loss, parameters, extras, await gradientOptions(options));
  const seen = Object.fromEntries(["loss", ...Object.keys(extras)].map((name) => [name, plan.outputs[name]!]));
  const handed = Object.fromEntries(carried.map(({ input: each }) => [carriedName(each), each.attributes.name]));
  const found = new Map(parameters.map((each) => [each, gradientOf(each, plan, options.clipValue)]));
  if (accumulate === 1) {
    const { outputs, stays } = updates(options, found);
    return { pass: program({ ...seen, ...outputs }, { ...handed, ...stays }), update: undefined };
  }
  const { outputs, stays, sums } = addedUp(found);
  return { pass: program({ ...seen, ...outputs }, { ...handed, ...stays }), update: updates(options, sums) };
}

const program = (outputs: Readonly<Record<string, Tensor>>, stays: Stays): DeviceProgram => ({
  outputs: simplifyNamed(outputs),
  stays,
});

/** The whole gradient of a parameter, clipped by value: rows of a table that is only looked up one by one, all else as a whole. */
function gradientOf(parameter: ParameterTensor, plan: StepGraph, limit: number | undefined): Tensor {
  const { outputs, rowOutputs } = plan;
  const clip = (x: Tensor) => (limit === undefined ? x : minimum(maximum(x, -limit), limit));
  const dense = outputs[gradientName(parameter)];
  const rows = rowOutputs.filter((each) => each.parameter === parameter);
  const scattered = rows.map(({ ids, rows: values, sign }) => {
    const each = dense ? outputs[values]! : clip(outputs[values]!);
    const table = scatterAdd(outputs[ids]!, each, parameter.attributes.shape[0]!);
    return sign === 1 ? table : negate(table);
  });
  const whole = [...(dense ? [dense] : []), ...scattered].reduce((a, b) => add(a, b));
  return dense ? clip(whole) : whole;
}

type Gradients = ReadonlyMap<ParameterTensor, Tensor>;

/** Sums over batches: keep · sum + share · gradient. */
function addedUp(gradients: Gradients) {
  const [keep, share] = [input(KEEP, []), input(SHARE, [])];
  const [sums, outputs, stays] = [
    new Map<ParameterTensor, Tensor>(),
    {} as Record<string, Tensor>,
    {} as Record<string, string>,
  ];
  for (const [parameter, gradient] of gradients) {
    const before = input(sumName(parameter), parameter.shape);
    sums.set(parameter, before);
    outputs[`next ${sumName(parameter)}`] = add(multiply(before, keep), multiply(gradient, share));
    stays[`next ${sumName(parameter)}`] = sumName(parameter);
  }
  return { sums, outputs, stays };
}

/** Weights and moments after an update, and the norm of the gradient before clipping. */
function updates({ groups, clipNorm = Number.POSITIVE_INFINITY }: StepOptions, gradients: Gradients): DeviceProgram {
  const squares = [...gradients.values()].map((each) => sum(square(each)));
  const norm = sqrt(squares.reduce<Tensor>((a, b) => add(a, b), scalar(0)));
  // A norm of 0 clips nothing; division by it is not defined everywhere.
  const scale = Number.isFinite(clipNorm) ? minimum(divide(clipNorm, maximum(norm, 1e-30)), 1) : undefined;
  const outputs: Record<string, Tensor> = { norm };
  const stays: Record<string, string> = {};
  groups.forEach((group, g) => {
    const scalars = scalarInputs(group, g);
    for (const parameter of group.parameters) {
      const gradient = gradients.get(parameter)!;
      for (const [name, next] of moved(group, scalars, parameter, scale ? multiply(gradient, scale) : gradient)) {
        outputs[`next ${name}`] = next;
        stays[`next ${name}`] = name;
      }
    }
  });
  return program(outputs, stays);
}

type Scalars = Readonly<Record<string, Tensor>>;

/** The scalars of a group's rule, and whether it is updated, where it may rest. */
function scalarInputs({ optimiser, active }: Group, g: number): Scalars {
  const names = Object.keys(ruleScalars(optimiser.rule!, { rate: 1, step: 1 }));
  return Object.fromEntries(
    [...names, ...(active ? [ACTIVE] : [])].map((name) => [name, input(scalarName(g, name), [])]),
  );
}

/** A weight and its moments after an update, by their names; a group that rests keeps them. */
function moved(group: Group, scalars: Scalars, parameter: ParameterTensor, gradient: Tensor): [string, Tensor][] {
  const { rule, moments: names } = group.optimiser;
  const moments = names.map((name) => input(momentName(name, parameter), parameter.shape));
  const next = ruleUpdate(rule!, { weight: parameter, gradient, moments }, scalars);
  const kept = (after: Tensor, before: Tensor) =>
    group.active ? select(greater(scalars[ACTIVE]!, 0), after, before) : after;
  return [
    [nameOf(parameter), kept(next.weight, parameter)],
    ...names.map((name, i): [string, Tensor] => [momentName(name, parameter), kept(next.moments[i]!, moments[i]!)]),
  ];
}

/** Values of the scalar inputs of an update. */
export function updateFeeds(
  groups: readonly Group[],
  at: { readonly rate: number; readonly steps: readonly number[]; readonly active: readonly boolean[] },
): Record<string, Float32Array> {
  const all = groups.flatMap(({ optimiser, rateFactor = 1 }, g) => {
    const scalars = ruleScalars(optimiser.rule!, { rate: at.rate * rateFactor, step: at.steps[g]! });
    return Object.entries({ ...scalars, [ACTIVE]: Number(at.active[g]) }).map(
      ([name, value]) => [scalarName(g, name), value] as const,
    );
  });
  return Object.fromEntries(all.map(([name, value]) => [name, Float32Array.of(value)]));
}
