/** The null test of a search: is the network that it found better than random ones of no more latency, trained alike? */
import { reject } from "../../../base/errors.ts";
import { type Spread, spreadOf } from "../../../base/spread.ts";

/** A found network beside random ones. */
export interface NullTest {
  /** The network that was found, by name and letters. */
  readonly name: string;
  readonly pattern: string;
  readonly perplexity: number;
  /** Perplexities of the random networks. */
  readonly random: Spread;
  /** None of them takes longer, by measured costs. */
  readonly mostMs: number;
  /** Better than their mean by more than their deviation. */
  readonly isBetter: boolean;
}

type Trained = Pick<NullTest, "name" | "pattern" | "perplexity">;

/** Refuses numbers of random networks that have no deviation. */
export function checkRandom(count: number): void {
  if (Number.isSafeInteger(count) && count >= 2) return;
  const remedy = "two have a deviation, more a better one";
  reject({ who: "random", needed: "at least 2 networks", got: `${count}`, remedy }, 2);
}

/** Holds a network against random ones. */
export function nullTestOf(
  { name, pattern, perplexity }: Trained,
  random: readonly Pick<Trained, "perplexity">[],
  mostMs: number,
): NullTest {
  const spread = spreadOf(random.map((each) => each.perplexity))!;
  const isBetter = spread.mean - perplexity > (spread.deviation ?? Number.POSITIVE_INFINITY);
  return { name, pattern, perplexity, random: spread, mostMs, isBetter };
}

/** The answer in a sentence. */
export function nullTestText({ name, pattern, perplexity, random, mostMs, isBetter }: NullTest): string {
  const { mean, deviation, values } = random;
  const theirs = deviation === null ? mean.toFixed(2) : `${mean.toFixed(2)} ± ${deviation.toFixed(2)}`;
  const verdict = `${isBetter ? "better" : "not better"} than the mean random network by more than its deviation`;
  const figures = `perplexity ${perplexity.toFixed(2)} against ${theirs} of ${values.length} networks within ${mostMs.toFixed(2)} ms`;
  return `null test: ${name}, ${pattern}, is ${verdict}: ${figures}`;
}
