/** How deep tokens ran, kept by any names: counts, means, deviations, and how many ran to the last depth. */
import { table } from "../base/table.ts";

/** How deep the tokens of one name ran. */
export interface DepthRow {
  readonly name: string;
  readonly tokens: number;
  /** Mean number of depths. */
  readonly mean: number;
  readonly deviation: number;
  /** Part of the tokens that ran through all depths. */
  readonly atCap: number;
}

/** Mean cosine between the states before and after an iteration, over the tokens that ran it. */
export interface TraceRow {
  readonly iteration: number;
  readonly tokens: number;
  readonly cosine: number;
}

/** A token of a text, how many iterations it took, and the cosine between its states before and after each of them. */
export interface TokenDepth {
  readonly piece: string;
  readonly depth: number;
  readonly cosines: readonly number[];
  /** Its halting probability at each of them; none where the depth is fixed. */
  readonly halting: readonly number[];
  /** Entropy in nats of what a language model expects next. */
  readonly entropy?: number | undefined;
  /** −log of the probability, in nats, that a language model gave to what came next; absent of the last token. */
  readonly surprise?: number | undefined;
}

interface Sums {
  tokens: number;
  total: number;
  squares: number;
  capped: number;
}

/** Counts depths by name. */
export class DepthTally {
  readonly #cap: number;
  readonly #sums = new Map<string, Sums>();

  /** `cap` is the deepest depth there is. */
  constructor(cap: number) {
    this.#cap = cap;
  }

  add(name: string, depth: number): void {
    const sums = this.#sums.get(name) ?? { tokens: 0, total: 0, squares: 0, capped: 0 };
    this.#sums.set(name, sums);
    sums.tokens++;
    sums.total += depth;
    sums.squares += depth * depth;
    if (depth >= this.#cap) sums.capped++;
  }

  /** A row a name, in the order in which names first came, or in the order given; names never seen are left out. */
  rows(names: Iterable<string> = this.#sums.keys()): DepthRow[] {
    return [...names].flatMap((name) => {
      const sums = this.#sums.get(name);
      if (!sums) return [];
      const mean = sums.total / sums.tokens;
      const deviation = Math.sqrt(Math.max(0, sums.squares / sums.tokens - mean * mean));
      return [{ name, tokens: sums.tokens, mean, deviation, atCap: sums.capped / sums.tokens }];
    });
  }
}

const round = (value: number) => Math.round(value * 1000) / 1000;

/** Rows as a table; `what` is the title of their names. */
export const depthTable = (rows: readonly DepthRow[], what: string): string =>
  table(
    rows.map(({ name, tokens, mean, deviation, atCap }) => ({
      [what]: name,
      tokens,
      iterations: round(mean),
      deviation: round(deviation),
      "at the cap": `${(100 * atCap).toFixed(1)} %`,
    })),
  );

/** A similarity trace as a table. */
export const traceTable = (trace: readonly TraceRow[]): string =>
  table(trace.map(({ cosine, ...row }) => ({ ...row, cosine: round(cosine) })));
