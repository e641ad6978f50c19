/** All that src/engine/kernels.ts calls. The memory is imported; no kernel has data of its own. */
export { addRows, addScaled, clearRows, clipByValue, fill, firstBadId, firstNonFinite, scaleInPlace, sumOfSquares } from "./arithmetic";
export { dropoutMask, gumbel, normal, uniform } from "./noise";
export { adam, lamb, sgd } from "./optimisers";
