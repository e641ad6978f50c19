/** Optimal cutoffs: where to cut a vocabulary, sorted by falling frequency, so that an adaptive softmax costs least. */
import { reject, rejectOption } from "../base/errors.ts";
import { formatNumber, table } from "../base/table.ts";

/** Where a vocabulary is cut, and what that costs. */
export interface Cutoffs {
  /** The inner cutoffs: the exclusive end of each cluster but the last. */
  readonly cutoffs: readonly number[];
  /** Words in all. */
  readonly vocabulary: number;
  /** Σ over clusters of size × mass, in the unit of the weights; or of the costs that were given. */
  readonly cost: number;
}

/**
 * What a cluster costs: fixed + perMass · mass + perWord · size + perProduct · size · mass. Only the product bends, and it satisfies
 * the quadrangle inequality where perProduct ≥ 0; the other terms satisfy any with equality. So every such cost has the fast optimum.
 */
export interface ClusterCost {
  readonly fixed: number;
  readonly perMass: number;
  readonly perWord: number;
  readonly perProduct: number;
}

/** The original's: size × mass. */
const PRODUCT: ClusterCost = { fixed: 0, perMass: 0, perWord: 0, perProduct: 1 };

/** The cost of a cluster of so many words with so much mass. */
export function clusterCost({ fixed, perMass, perWord, perProduct }: ClusterCost, size: number, mass: number): number {
  return fixed + perMass * mass + (perWord + perProduct * mass) * size;
}

/** Falling weights, and the mass of the first i of them at i. */
function prefixMasses(weights: ArrayLike<number>): Float64Array {
  const sorted = Float64Array.from(weights).sort().reverse();
  const masses = new Float64Array(sorted.length + 1);
  for (let i = 0; i < sorted.length; i++) masses[i + 1] = masses[i]! + sorted[i]!;
  return masses;
}

/** One more cluster: best[j] = min over i < j of before[i] + cost(j − i, mass(i … j)), and the i that gives it. */
class Layer {
  readonly best: Float64Array;
  readonly from: Int32Array;
  readonly #before: Float64Array;
  readonly #masses: Float64Array;
  readonly #cost: ClusterCost;

  constructor(before: Float64Array, masses: Float64Array, clusters: number, cost: ClusterCost) {
    this.#before = before;
    this.#masses = masses;
    this.#cost = cost;
    this.best = new Float64Array(masses.length).fill(Number.POSITIVE_INFINITY);
    this.from = new Int32Array(masses.length);
    this.#solve(clusters, masses.length - 1, clusters - 1, masses.length - 2);
  }

  /**
   * The cost satisfies the quadrangle inequality, so the best start of the last cluster never falls as its end moves right:
   * solve the middle end, then each half within the starts that are left. Of equal costs the last start wins.
   */
  #solve(low: number, high: number, first: number, last: number): void {
    if (low > high) return;
    const end = (low + high) >> 1;
    let [cost, start] = [Number.POSITIVE_INFINITY, first];
    for (let i = first; i <= Math.min(last, end - 1); i++) {
      const candidate = this.#before[i]! + clusterCost(this.#cost, end - i, this.#masses[end]! - this.#masses[i]!);
      if (candidate <= cost) [cost, start] = [candidate, i];
    }
    this.best[end] = cost;
    this.from[end] = start;
    this.#solve(low, end - 1, first, start);
    this.#solve(end + 1, high, start, last);
  }
}

/**
 * The cheapest way to cut words of the given counts or probabilities (any order) into clusters; exact, O(clusters · N log N).
 * `costOf` says what the cluster of an index costs, the head being 0.
 */
export function optimalCutoffs(
  weights: ArrayLike<number>,
  clusters: number,
  costOf: (cluster: number) => ClusterCost = () => PRODUCT,
): Cutoffs {
  const vocabulary = weights.length;
  check(weights, clusters);
  const masses = prefixMasses(weights);
  const layers: Layer[] = [];
  let before: Float64Array = masses.map((mass, end) => clusterCost(costOf(0), end, mass)); // one cluster
  for (let k = 2; k <= clusters; k++) {
    const layer = new Layer(before, masses, k, convex(k - 1, costOf(k - 1)));
    layers.push(layer);
    before = layer.best;
  }
  const cutoffs: number[] = [];
  for (const layer of layers.toReversed()) cutoffs.unshift(layer.from[cutoffs[0] ?? vocabulary]!);
  return { cutoffs, vocabulary, cost: before[vocabulary]! };
}

/** What each cluster costs when words of the given weights are cut so. */
export function costsOfClusters(
  { cutoffs, vocabulary }: Pick<Cutoffs, "cutoffs" | "vocabulary">,
  weights: ArrayLike<number>,
  costOf: (cluster: number) => ClusterCost = () => PRODUCT,
): number[] {
  const masses = prefixMasses(weights);
  return [...cutoffs, vocabulary].map((end, k) => {
    const start = cutoffs[k - 1] ?? 0;
    return clusterCost(costOf(k), end - start, masses[end]! - masses[start]!);
  });
}

function convex(cluster: number, cost: ClusterCost): ClusterCost {
  if (cost.perProduct >= 0) return cost;
  return rejectOption({ who: `cost of cluster ${cluster}`, needed: "a perProduct from 0", got: `${cost.perProduct}` });
}

function check(weights: ArrayLike<number>, clusters: number): void {
  const bad = Array.from(weights).findIndex((weight) => !(weight >= 0 && weight < Number.POSITIVE_INFINITY));
  if (bad >= 0) reject({ who: `counts, line ${bad + 1}`, needed: "a number from 0", got: `${weights[bad]}` }, 2);
  if (Number.isInteger(clusters) && clusters >= 1 && clusters <= weights.length) return;
  const needed = weights.length === 0 ? "at least one count" : `from 1 to ${weights.length}, the number of words`;
  reject({ who: "clusters", needed, got: weights.length === 0 ? "none" : `${clusters}` }, 2);
}

/** Numbers, one per line; empty lines count for nothing. */
export function parseCounts(text: string, source: string): Float64Array {
  const counts: number[] = [];
  text.split("\n").forEach((line, i) => {
    const word = line.trim();
    if (word === "") return;
    const value = Number(word);
    if (!(value >= 0 && value < Number.POSITIVE_INFINITY)) {
      const remedy = "write one count or probability per line";
      reject({ who: `${source}, line ${i + 1}`, needed: "a number from 0", got: JSON.stringify(word), remedy }, 2);
    }
    counts.push(value);
  });
  if (counts.length === 0) reject({ who: source, needed: "one count or probability per line", got: "none" }, 2);
  return Float64Array.from(counts);
}

/** How often each id occurs among tokens. */
export function countTokens(tokens: ArrayLike<number>, vocabulary: number): Float64Array {
  const counts = new Float64Array(vocabulary);
  for (let i = 0; i < tokens.length; i++) counts[tokens[i]!]!++;
  return counts;
}

/** The place of each id among all, by falling count: adaptive softmaxes want frequent words first. Equal counts keep their order. */
export function frequencyRanks(counts: ArrayLike<number>): Int32Array {
  const order = Array.from(counts, (_, id) => id).sort((a, b) => counts[b]! - counts[a]! || a - b);
  const ranks = new Int32Array(order.length);
  order.forEach((id, rank) => {
    ranks[id] = rank;
  });
  return ranks;
}

/** A cluster of words by falling frequency. */
export interface Cluster {
  /** The first word, and the one after the last. */
  readonly start: number;
  readonly end: number;
  /** Its part of all that was counted; 0 where nothing was. */
  readonly share: number;
}

/** The clusters that cutoffs make of these counts, the head first. */
export function clustersOf({ cutoffs, vocabulary }: Cutoffs, counts: Float64Array): Cluster[] {
  const sorted = counts.toSorted().reverse();
  const total = sorted.reduce((a, b) => a + b, 0) || 1;
  return [...cutoffs, vocabulary].map((end, k) => {
    const start = cutoffs[k - 1] ?? 0;
    return { start, end, share: sorted.subarray(start, end).reduce((a, b) => a + b, 0) / total };
  });
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

/** Cutoffs in words: a table of the clusters, with milliseconds where they are known, what all cost, and the cutoffs themselves. */
export function cutoffsText(
  found: Cutoffs,
  counts: Float64Array,
  measured?: { readonly times: readonly number[]; readonly cost: string },
): string {
  const rows = clustersOf(found, counts).map(({ start, end, share }, k) => ({
    cluster: k === 0 ? "head" : `tail ${k}`,
    words: `${start} … ${end - 1}`,
    size: end - start,
    share: percent(share),
    ...(measured && { time: `${measured.times[k]!.toFixed(3)} ms` }),
  }));
  const one = found.vocabulary * (counts.reduce((a, b) => a + b, 0) || 1);
  const plain = `cost ${formatNumber(found.cost)}, ${percent(found.cost / one)} of one cluster's`;
  const cutoffs = found.cutoffs.length > 0 ? `\ncutoffs ${found.cutoffs.join(",")}` : "";
  return `${table(rows)}\n\n${measured?.cost ?? plain}${cutoffs}`;
}
