/** Means over the tokens that count: padding neither costs depth nor teaches a router. */
import { cast, divide, maximum, mean, multiply, reshape, sum, type Tensor } from "../graph/index.ts";
import type { Context } from "../nn/index.ts";

/** The mean over the tokens that count: of a column [N, 1] a scalar, of rows [N, K] with `axes: [0]` a row [K]. */
export function meanReal(rows: Tensor, { real }: Context, how: { axes?: number[] } = {}): Tensor {
  if (!real) return mean(rows, how);
  const counted = cast(reshape(real, [real.shape[0]!, 1]), "float");
  return divide(sum(multiply(rows, counted), how), maximum(sum(counted), 1));
}
