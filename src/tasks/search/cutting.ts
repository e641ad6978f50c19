/** Cutting candidates that a search has given up: which are dead, and a training state without them. */
import type { Supernet } from "../../model/supernet.ts";
import type { StateTensor, TrainState } from "../../train/events.ts";
import type { Weights } from "../../train/stages.ts";
import { computes, frugalShares, likeliest, standings } from "./choice.ts";

type Alive = readonly (readonly number[])[];

/** The candidates of each block whose π is at least 1 − threshold: one is left once its π is above the threshold. */
function survivors(model: Supernet, weights: Weights, threshold: number): number[][] {
  const largest = model.chosen(weights);
  return model.probabilities(weights).map((shares, i) => {
    return model.alive[i]!.filter((k) => k === largest[i] || shares[k]! >= 1 - threshold);
  });
}

/** Part of the updates before which no block is given to identity: while weights are poor, it is liked too much. */
const IDENTITY_FROM = 0.6;

/**
 * What survives after a part of the updates. The likeliest network of candidates that compute does so in every block, whatever π says
 * of it, but later on where π leaves a block nothing but identity: so what survives keeps to the budget.
 */
export function survivorsAt(part: number, model: Supernet, weights: Weights, threshold: number): number[][] {
  const wanted = likeliest(model, frugalShares(model, weights));
  return survivors(model, weights, threshold).map((places, block) => {
    const isKept = part < IDENTITY_FROM || places.some(computes(model, block));
    return model.alive[block]!.filter((k) => places.includes(k) || (isKept && k === wanted[block]));
  });
}

/**
 * Leaves one candidate that computes, that of the likeliest such network, in as many blocks as it takes for at most `open` to have
 * more, the surest first: those whose other candidates stand worst. Identity stays for π to judge: it costs nothing.
 */
export function settleSurest(alive: Alive, model: Supernet, weights: Weights, open: number): number[][] {
  const shares = frugalShares(model, weights);
  const wanted = likeliest(model, shares);
  const undecided = standings(model, shares).flatMap((standing, block) => {
    const rivals = alive[block]!.filter(computes(model, block));
    const total = [...new Set([...rivals, wanted[block]!])].reduce((sum, k) => sum + standing[k]!, 0);
    return rivals.length > 1 ? [{ block, share: standing[wanted[block]!]! / total }] : [];
  });
  const surest = undecided.toSorted((a, b) => b.share - a.share).slice(0, Math.max(0, undecided.length - open));
  const settled = new Set(surest.map(({ block }) => block));
  return alive.map((places, block) => {
    return places.filter((k) => !settled.has(block) || k === wanted[block] || !computes(model, block)(k));
  });
}

/** How many blocks may have rivals that compute after a part of the updates: all before `from`, none from `by` on. */
export function openBlocks(blocks: number, [from, by]: readonly [number, number], part: number): number {
  return Math.ceil(blocks * Math.min(1, Math.max(0, (by - part) / (by - from))));
}

export const sizeOf = (alive: Alive): number => alive.reduce((total, { length }) => total + length, 0);

/** Copies of a state of `from` as `to`, which has fewer candidates, takes them: dead weights and moments gone, π shortened. */
export function narrowState({ progress, weights, moments }: TrainState, from: Supernet, to: Supernet): TrainState {
  const kept = new Set(to.parameters.map(({ name }) => name));
  const gone = new Set(from.parameters.map(({ name }) => name).filter((name) => !kept.has(name)));
  const places = new Map<string, readonly number[]>();
  for (const [i, alive] of to.alive.entries()) {
    const name = to.policy.distribution(i)?.name;
    if (name !== undefined)
      places.set(
        name,
        alive.map((k) => from.alive[i]!.indexOf(k)),
      );
  }
  const narrow = (tensors: ReadonlyMap<string, StateTensor>) =>
    new Map(
      [...tensors].flatMap(([key, { shape, data }]) => {
        const name = key.slice(key.indexOf(" ") + 1); // moments are called `m blocks.0.pi`
        const taken = places.get(name);
        if (taken) return [[key, { shape: [taken.length], data: Float32Array.from(taken, (at) => data[at]!) }]];
        return gone.has(name) ? [] : [[key, { shape, data: data.slice() }]];
      }),
    );
  return { progress, weights: narrow(weights), moments: narrow(moments) };
}
