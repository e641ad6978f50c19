/** Runs by what they can do: whatever the kind, a run that has a use. */
import { reject } from "../base/errors.ts";
import type { OpenOptions } from "./open-run.ts";
import { type AnyRun, Run } from "./run.ts";

/** What the uses of a run are called in words. */
const words = {
  evaluate: "be evaluated",
  generate: "continue text",
  export: "be exported",
  predict: "predict labels",
  fill: "guess masked words",
  embed: "make vectors of texts",
  adapter: "give an adapter",
  answer: "tag, answer or choose",
  depths: "show how deep its tokens run",
} as const;

/** A use of runs. */
export type RunUse = keyof typeof words;
/** The kinds of runs that have a use. */
export type RunWith<U extends RunUse> = Extract<AnyRun, Record<U, unknown>>;

/** Opens a run of any kind that has the use; one that cannot do it is refused. */
export async function openRunWith<U extends RunUse>(
  path: string,
  use: U,
  options: OpenOptions = {},
): Promise<RunWith<U>> {
  const run = await Run.open(path, options);
  if (use in run) return run as RunWith<U>;
  return reject({ who: path, needed: `a run that can ${words[use]}`, got: `one of kind ${run.kind}` }, 2);
}
