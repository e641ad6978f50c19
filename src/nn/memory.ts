/** A text that another looks at by cross-attention: who asks with the same weights is given the same keys and values. */
import type { Tensor } from "../graph/index.ts";
import type { KeyValues } from "./attention.ts";
import type { Memory } from "./block.ts";
import type { Rows } from "./running.ts";

/** How an attention makes keys and values [B, S, ·] of a text's rows [B·S, C]. */
export type MakeKeys = (text: Tensor, rows: Rows) => KeyValues;

/** A memory whose pairs come from `pairOf`, called once for each set of weights, in the order in which they first ask. */
export function memoryOf(
  pairOf: (index: number, make: MakeKeys) => KeyValues,
  how: Pick<Memory, "mask" | "rows"> = {},
): Memory {
  const known: { readonly weights: readonly Tensor[]; readonly pair: KeyValues }[] = [];
  return {
    ...how,
    keyValues: (weights, make) => {
      const found = known.find((each) => each.weights.every((weight, i) => weight === weights[i]));
      if (found) return found.pair;
      const pair = pairOf(known.length, make);
      known.push({ weights, pair });
      return pair;
    },
  };
}
