/** Networks whose blocks still have choices: what a search needs to know of them, whatever they are trained for. */
import type { Budget, Searched } from "../depth/searched.ts";
import type { Tensor } from "../graph/index.ts";
import type { Parameter } from "../nn/index.ts";
import type { CandidateChoice } from "./par/candidates.ts";

/** Values of parameters by their nodes. */
export type ParameterValues = ReadonlyMap<Tensor<"parameter">, ArrayLike<number>>;

/** A network in which every block is one of several candidates, some of which may have been cut. */
export interface Supernet {
  readonly options: {
    /** What candidates cost, by their places among all. */
    readonly budget?: Budget | undefined;
  };
  /** Everything each block could be when the search began. */
  readonly choices: readonly (readonly CandidateChoice[])[];
  /** The places among the choices that are still there. */
  readonly alive: readonly (readonly number[])[];
  readonly policy: Searched;
  readonly parameters: readonly Parameter[];
  /** π of everything each block could be; 0 for what was cut. */
  probabilities(values: ParameterValues): number[][];
  /** The most probable candidate of each block, by its place among its choices. */
  chosen(values: ParameterValues): number[];
}

type Chosen = Pick<Supernet, "choices" | "alive" | "policy">;

/** π of everything each block could be; 0 for what was cut. */
export function allProbabilities({ choices, alive, policy }: Chosen, values: ParameterValues): number[][] {
  return policy.probabilities(values).map((shares, i) => {
    const whole = choices[i]!.map(() => 0);
    for (const [k, place] of alive[i]!.entries()) whole[place] = shares[k]!;
    return whole;
  });
}

/** The most probable candidate of each block, by its place among all. */
export const chosenPlaces = ({ alive, policy }: Chosen, values: ParameterValues): number[] =>
  policy.chosen(values).map((k, i) => alive[i]![k]!);
