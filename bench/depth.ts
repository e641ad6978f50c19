/** Halting that saves time: the stepped program at a mean depth of 3.8 against our own fixed depth 6, ALBERT-tiny's sizes. */
import { type DepthBenchOptions, measureDepth } from "../src/analysis/depth-bench.ts";
import { ortEngine } from "../src/engine/ort.ts";
import type { Bench } from "./measure.ts";

const sizes: readonly Pick<DepthBenchOptions, "width" | "heads" | "hidden">[] = [
  { width: 768, heads: 12, hidden: 3072 },
  { width: 256, heads: 4, hidden: 1024 },
];
const TARGET = 0.72;

export const bench: Bench = async ({ say, rounds, threads }) => {
  const found = [];
  const engine = await ortEngine({ threads });
  for (const size of sizes) {
    say(`width ${size.width}, batches 1 and 16`);
    const options = { ...size, batches: [1, 16], length: 128, means: [3.8], cap: 6, rounds };
    for (const { batch, adaptive_ms, fixed_ms, ratio } of await measureDepth(engine, options)) {
      const name = `depth 3.8 of 6, width ${size.width}, batch ${batch}`;
      found.push({ name, ours_ms: adaptive_ms, peer: "fixed depth 6", peer_ms: fixed_ms, ratio, target: TARGET });
    }
  }
  return found;
};
