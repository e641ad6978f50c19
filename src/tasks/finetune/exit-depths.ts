/** Training for prediction that stops early: each text of a batch halts at the latest at a depth that is drawn for it. */
import { reject } from "../../base/errors.ts";
import { RandomStream } from "../../base/random.ts";
import type { AlbertDescription } from "../../model/albert/description.ts";
import type { Batches } from "../../train/evaluate.ts";
import type { GlueSettings } from "./settings.ts";

/** The depths at which a text may stop in training, the whole one last; undefined where all run to the whole one. */
export function exitDepths(
  { depth, halting, blocks }: AlbertDescription["model"],
  { exitDepths: asked, headStart }: Pick<GlueSettings, "exitDepths" | "headStart">,
): number[] | undefined {
  const halts = halting !== undefined && typeof depth === "number" && blocks === undefined;
  if (asked === "drawn" && !halts) refuseFixed(depth);
  if (!halts || (asked ?? (headStart === "fitted" ? "drawn" : "full")) === "full") return undefined;
  return Array.from({ length: depth }, (_, i) => i + 1);
}

/** A depth in words says itself where its tokens halt. */
function refuseFixed(depth: number | string): never {
  const needed = "a model whose tokens halt within a number of depths";
  const got = typeof depth === "string" ? `the depth ${JSON.stringify(depth)}` : "one of fixed depth";
  return reject({ who: "finetune / exit-depths", needed, got, remedy: "leave --exit-depths out" }, 2);
}

/** The same batches with a depth for each text, drawn by the batch's place over all epochs: a run that goes on draws the same ones. */
export function cappedBatches(
  batches: Batches,
  { depths, seed, batch: rows }: { depths: readonly number[]; seed: number; batch: number },
): Batches {
  return {
    ...batches,
    at: (place) => {
      const random = new RandomStream(seed, `exit depths ${place}`);
      return {
        ...batches.at(place),
        caps: Int32Array.from({ length: rows }, () => depths[random.integer(depths.length)]!),
      };
    },
  };
}
