/** Optimal cutoffs of an adaptive softmax over 12,000 words in four clusters, against the original's plain Python. */
import { optimalCutoffs } from "../src/text/cutoffs.ts";
import { type Bench, compare, interleave, timed } from "./measure.ts";

const [WORDS, CLUSTERS] = [12_000, 4];
/** The original's O(K N²) script on the piece counts of WikiText-2, measured once. Its time depends on the sizes alone. */
const PEER = { name: "O(K N²) in plain Python, measured once", ms: 133_000 };

export const bench: Bench = async ({ rounds }) => {
  const counts = Float64Array.from({ length: WORDS }, (_, rank) => 1e6 / (rank + 2.7)); // as words are spread
  const contenders = { ours: () => timed(() => optimalCutoffs(counts, CLUSTERS)) };
  await interleave(contenders, 5); // warm-up
  const times = await interleave(contenders, rounds);
  return [compare("optimal cutoffs, 12,000 words, K = 4", 0.001, times.get("ours")!, PEER.name, [PEER.ms])];
};
