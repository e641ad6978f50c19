/** Runs by what they can do: whatever the kind, a run that has a use. */
import { reject } from "../base/errors.ts";
import type { OpenOptions } from "./open-run.ts";
import { type AnyRun, Run, type RunKind } from "./run.ts";

/** What the uses of a run are called in words. */
const words = {
  evaluate: "be evaluated",
  curve: "give figures against depth",
  generate: "continue text",
  export: "be exported",
  predict: "predict labels",
  fill: "guess masked words",
  embed: "make vectors of texts",
  adapter: "give an adapter",
  answered: "tag, answer or choose",
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

const segmented: readonly RunKind[] = ["search", "seeds", "retrain"];
/** Options of uses that only some kinds of runs understand. */
const understood: Readonly<Record<string, readonly RunKind[]>> = {
  corpus: ["pretrain", "imported", "finetune", "head"],
  evaluateTokens: ["language", "translate", ...segmented],
  evaluationMemory: segmented,
  mixture: segmented,
};

/** Refuses options of a use that a run of this kind does not understand, `called` as the asker knows them. */
export function refuseOptions(
  { kind, path }: Pick<AnyRun, "kind" | "path">,
  options: Readonly<Record<string, unknown>>,
  called: (option: string) => string = (option) => option,
): void {
  const given = Object.keys(understood).filter((name) => options[name] !== undefined);
  const stranger = given.find((name) => !understood[name]!.includes(kind));
  if (stranger === undefined) return;
  const needed = `a run of kind ${understood[stranger]!.join(", ")} for ${called(stranger)}`;
  reject({ who: path, needed, got: `one of kind ${kind}`, remedy: "leave it out" }, 2);
}
