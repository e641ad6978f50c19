/** The graph of a training step: loss and gradients, with the sparse parts of look-up tables as rows. */
import {
  foldIntoWeights,
  gradients,
  type Rows,
  simplify,
  simplifyNamed,
  splitRows,
  type Tensor,
} from "../graph/index.ts";
import type { ParameterTensor } from "./memory.ts";

/** Row gradients of a table: added to its gradient after each run. */
export interface RowOutput {
  readonly parameter: ParameterTensor;
  readonly ids: string;
  readonly rows: string;
  readonly sign: 1 | -1;
}

/** The graph of a step: what leaves the program, and how it becomes gradients. */
export interface StepGraph {
  readonly outputs: Record<string, Tensor>;
  readonly dense: ReadonlySet<ParameterTensor>;
  readonly rowOutputs: readonly RowOutput[];
}

/** Under which a parameter's dense gradient leaves. */
export const gradientName = (parameter: ParameterTensor) => `gradient ${parameter.attributes.name}`;

/** How gradients are taken. */
export interface GradientOptions {
  /** The gradient of the "loss", which may then be any tensor. */
  readonly seed?: Tensor | undefined;
  /** What takes them. Default: `gradients`, by which all activations are kept. */
  readonly take?: typeof gradients | undefined;
}

/** Loss, gradients of the parameters and extras, simplified; look-up tables give rows instead of a dense gradient. */
export function stepGraph(
  loss: Tensor,
  parameters: readonly ParameterTensor[],
  extras: Readonly<Record<string, Tensor>> = {},
  { seed, take = gradients }: GradientOptions = {},
): StepGraph {
  const names = Object.keys(extras);
  const [folded, ...seen] = foldIntoWeights([loss, ...Object.values(extras)]);
  const slopes = take(folded!, parameters, seed);
  const [value, ...rest] = simplify([folded!, ...seen, ...slopes]);
  const found = rest.slice(names.length);
  const wanted: [string, Tensor][] = [["loss", value!], ...names.map((name, i): [string, Tensor] => [name, rest[i]!])];
  const dense = new Set<ParameterTensor>();
  const rowOutputs: RowOutput[] = [];
  parameters.forEach((parameter, i) => {
    const split = splitRows(found[i]!);
    if (split.dense) {
      dense.add(parameter);
      wanted.push([gradientName(parameter), split.dense]);
    }
    split.rows.forEach((rows, k) => {
      const output = rowOutput(parameter, rows, k);
      rowOutputs.push(output);
      wanted.push([output.ids, rows.ids], [output.rows, rows.rows]);
    });
  });
  return { outputs: simplifyNamed(Object.fromEntries(wanted)), dense, rowOutputs };
}

function rowOutput(parameter: ParameterTensor, { sign }: Rows, k: number): RowOutput {
  const name = `rows ${k} of ${parameter.attributes.name}`;
  return { parameter, ids: `${name}: ids`, rows: `${name}: values`, sign };
}
