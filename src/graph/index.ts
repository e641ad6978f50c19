/** The symbolic graph: build tensors, take gradients, simplify, print, count the cost. */
export * from "./build.ts";
export { type Cost, cost, costOf } from "./cost.ts";
export {
  addDims,
  type Dim,
  evaluateDim,
  evaluateShape,
  multiplyDims,
  namesIn,
  printShape,
  type Shape,
  type Sizes,
  sizeOf,
} from "./dims.ts";
export { gradients } from "./gradients.ts";
export { type Draw, Noise, type NoiseInput } from "./noise.ts";
export { topological } from "./order.ts";
export type { PathCandidate, Piece, Pieces } from "./pieces.ts";
export { print } from "./print.ts";
export { foldIntoWeights, simplify, simplifyNamed } from "./rewrite/simplify.ts";
export { type Role, roleOf, roles } from "./role.ts";
export { type Rows, type SplitGradient, splitRows } from "./rows.ts";
export { currentScope, is, substituting, within } from "./tensor.ts";
export type { Attributes, DType, None, Op, Reduction, Tensor } from "./vocabulary.ts";
export { refuseForeign, type Weights, weightOf, weightsOf } from "./weights.ts";
