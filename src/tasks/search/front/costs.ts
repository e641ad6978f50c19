/** What networks of a supernet cost by measured costs, and which of them a front may hold. */
import { costOfCandidate, costOfNetwork, type MeasuredCosts } from "../../../analysis/latency.ts";
import { type ParModel, parModel } from "../../../model/par/par.ts";
import type { Path } from "../../../train/path-program.ts";
import type { SearchConfig } from "../settings.ts";
import { fitsLimits } from "./limits.ts";

/** A supernet with the costs of its candidates. */
interface Costed {
  readonly model: ParModel;
  readonly costs: MeasuredCosts | null;
}

/** That, and the limits to which its networks keep. */
interface Limited extends Costed {
  readonly settings: Pick<SearchConfig, "latency" | "mostParameters" | "mostMemory" | "fullDepth">;
}

/** Milliseconds of the network that a path is. */
export const costOfPath = ({ model, costs }: Costed, path: Path): number =>
  costOfNetwork(
    costs!,
    path.map((place, i) => model.choices[i]![place]!),
  );

/** Milliseconds of a network by its letters. */
export function costOfPattern({ model, costs }: Costed, blocks: string): number {
  const { choices } = parModel({ ...model.options, budget: undefined, candidates: undefined, blocks });
  return costOfNetwork(
    costs!,
    choices.map(([choice]) => choice!),
  );
}

/** Milliseconds of the (sf)-baseline as a whole network. */
export const baselineMsOf = (parts: Costed): number => costOfPattern(parts, `baseline/${parts.model.choices.length}`);

/** Whether a network keeps to the limits of size and, where each block is to compute, skips some only because no other is as cheap. */
export function mayBeRanked(parts: Limited, path: Path): boolean {
  if (!fitsLimits(parts, path)) return false;
  if (!parts.settings.fullDepth) return true;
  const { choices } = parts.model;
  const skips = path.some((place, i) => choices[i]![place]!.kind === "identity");
  return !skips || costOfPath(parts, path) < costOfPath(parts, cheapestComputing(parts));
}

/** The path of the cheapest candidates that compute. */
export function cheapestComputing({ model, costs }: Costed): number[] {
  return model.choices.map((block) => {
    const computing = block.flatMap((choice, place) => (choice.kind === "identity" ? [] : [place]));
    const ms = (place: number) => costOfCandidate(costs!, block[place]!);
    return computing.reduce((a, b) => (ms(b) < ms(a) ? b : a), computing[0] ?? 0);
  });
}
