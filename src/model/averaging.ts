/** Checkpoint averaging: the mean of the weights of several checkpoints of one run. */
import { rejectData } from "../base/errors.ts";
import type { NamedTensor } from "./state-dict.ts";

/** The weights of a checkpoint by name. */
export type NamedWeights = ReadonlyMap<string, NamedTensor & { readonly data: Float32Array }>;

/** The mean, weight by weight; all checkpoints hold the same weights. Sums are double. */
export function averageCheckpoints(
  checkpoints: readonly NamedWeights[],
): Map<string, { shape: readonly number[]; data: Float32Array }> {
  const [first] = checkpoints;
  if (!first) return rejectData({ who: "averaging", needed: "a checkpoint", got: "none" });
  const extra = checkpoints.flatMap((each) => [...each.keys()]).find((name) => !first.has(name));
  if (extra !== undefined) {
    rejectData({
      who: `averaging / ${extra}`,
      needed: "the same weights in every checkpoint",
      got: "none in the first",
    });
  }
  return new Map(
    [...first].map(([name, { shape, data }]) => {
      const sums = new Float64Array(data.length);
      for (const checkpoint of checkpoints) addTo(sums, name, checkpoint.get(name)?.data);
      return [name, { shape, data: Float32Array.from(sums, (value) => value / checkpoints.length) }];
    }),
  );
}

function addTo(sums: Float64Array, name: string, data: Float32Array | undefined): void {
  if (data?.length !== sums.length) {
    rejectData({
      who: `averaging / ${name}`,
      needed: `${sums.length} values in every checkpoint`,
      got: `${data?.length ?? 0}`,
    });
  }
  for (let i = 0; i < sums.length; i++) sums[i]! += data[i]!;
}
