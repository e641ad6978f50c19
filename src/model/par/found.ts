/** The network that a search found, cut out of the supernet: one candidate a block, with the weights it has there. */
import { rejectData } from "../../base/errors.ts";
import { type PatternBlock, patternBlocks, printPattern } from "../../depth/pattern.ts";
import type { Supernet } from "../supernet.ts";
import type { Weights } from "../weights.ts";
import { type CandidateChoice, ParModel } from "./par.ts";

/** A network of its own: nothing is left to choose. */
export interface FoundNetwork {
  readonly model: ParModel;
  readonly weights: Weights;
}

/**
 * The blocks of a pattern as an ordinary network, under the names that one has. Default: the most probable candidates. Refuses
 * blocks that the supernet does not have, or has no more.
 */
export function foundNetwork(model: ParModel, weights: Weights, pattern = model.policy.pattern(weights)): FoundNetwork {
  const own = ownCandidates(model);
  const free = { candidates: own.length > 0 ? own : undefined, alive: undefined, budget: undefined };
  const network = new ParModel({ ...model.options, ...free, blocks: pattern });
  return { model: network, weights: takenWeights(model, weights, network, patternBlocks(pattern, own)) };
}

/** The weights of a network of given blocks: what stands at their depth in a supernet, and all that no block has. */
export function takenWeights(
  model: Supernet,
  weights: Weights,
  network: Pick<Supernet, "policy" | "parameters">,
  blocks: readonly PatternBlock[],
): Weights {
  const places = placesOf(model, weights, blocks);
  const sources = new Map(model.parameters.map(({ name, tensor }) => [name, tensor]));
  for (const [i, place] of places.entries()) {
    const taken = model.policy.blocks[i]![place]!.parameters;
    for (const [k, { name }] of network.policy.blocks[i]![0]!.parameters.entries()) sources.set(name, taken[k]!.tensor);
  }
  return new Map(network.parameters.map(({ name, tensor }) => [tensor, weights.get(sources.get(name)!)!]));
}

/** The same network with a softmax of its own, for readers that know no other; its vectors are copies. */
export function untied({ model, weights }: FoundNetwork): FoundNetwork {
  if (!model.options.tied) return { model, weights };
  const network = new ParModel({ ...model.options, tied: undefined });
  const named = new Map(model.parameters.map(({ name, tensor }) => [name, weights.get(tensor)!]));
  const taken = network.parameters.map(({ name, tensor }) => {
    const numbers = tensor.attributes.shape.reduce((a, b) => a * b, 1);
    return [tensor, named.get(name) ?? sharedVectors(name, numbers, named)] as const;
  });
  return { model: network, weights: new Map(taken) };
}

/** The vectors behind a weight of the softmax that the embedding owns, and the slots after them. */
function sharedVectors(name: string, numbers: number, named: ReadonlyMap<string, Float32Array>): Float32Array {
  const [, tail] = /^softmax\.tails\.(\d+)\.output\.weight$/.exec(name) ?? [];
  const own = name.replace(/weight$/, "slots");
  const table =
    tail === undefined
      ? (named.get("embedding.weight") ?? named.get("embedding.head.weight")!)
      : named.get(`embedding.tails.${tail}.weight`)!;
  const slots = named.get(own) ?? new Float32Array();
  const vectors = new Float32Array(numbers);
  vectors.set(table.subarray(0, numbers - slots.length));
  vectors.set(slots, numbers - slots.length);
  return vectors;
}

/** The candidates whose letters only the model knows, each once. */
function ownCandidates({ choices }: ParModel): CandidateChoice[] {
  return [...new Map(choices.flat().flatMap((each) => (each.make ? [[each.kind, each]] : []))).values()];
}

/** Where each block of a pattern stands among the candidates of its depth; of twins the more probable one. */
function placesOf({ policy }: Supernet, weights: Weights, blocks: readonly PatternBlock[]): number[] {
  if (blocks.length !== policy.blocks.length) {
    rejectData({
      who: "pattern",
      needed: `${policy.blocks.length} blocks, as the supernet has`,
      got: `${blocks.length}`,
    });
  }
  return policy.probabilities(weights).map((shares, i) => {
    const { kind, size } = blocks[i]!;
    const fitting = shares.flatMap((share, place) => {
      const candidate = policy.blocks[i]![place]!;
      return candidate.kind === kind && candidate.size === size ? [{ share, place }] : [];
    });
    if (fitting.length === 0) refuse(i, policy.blocks[i]!, blocks[i]!);
    return fitting.reduce((a, b) => (b.share > a.share ? b : a)).place;
  });
}

function refuse(i: number, left: readonly PatternBlock[], wanted: PatternBlock): never {
  const needed = `one of the supernet's ${left.map((block) => printPattern([block])).join(", ")}`;
  return rejectData({ who: `block ${i + 1}`, needed, got: printPattern([wanted]), remedy: "train it from scratch" });
}
