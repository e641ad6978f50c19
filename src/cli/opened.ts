/** Runs of any kind for the commands that use them: what a kind cannot do is said before anything is loaded. */
import { reject } from "../base/index.ts";
import type { AnyRun, RunKind } from "../index.ts";
import type { UseFlags } from "./finished.ts";
import { flagOf } from "./flags.ts";

const say = (text: string) => void process.stderr.write(`${text}\n`);

/** What the uses of a run are called in words. */
const words = {
  evaluate: "be evaluated",
  generate: "continue text",
  export: "be exported",
  predict: "predict labels",
  fill: "guess masked words",
  embed: "make vectors of texts",
  depths: "show how deep its tokens run",
} as const;

type Use = keyof typeof words;
/** The kinds of runs that have a use. */
export type Using<U extends Use> = Extract<AnyRun, Record<U, unknown>>;

/** Opens a run that can do what a command is for. */
export async function openUsing<U extends Use>(
  path: string,
  use: U,
  { checkpoint, threads, loops, cap, threshold, exit, keys }: UseFlags & { threads?: number | undefined } = {},
): Promise<Using<U>> {
  const { defaultEngine, Run } = await import("../tasks/index.ts");
  const engine = threads === undefined ? undefined : await defaultEngine({ threads });
  const changes = { loops, cap, threshold, exit, keys };
  const changed = Object.values(changes).some((each) => each !== undefined);
  const run = await Run.open(path, { checkpoint, engine, say, ...(changed ? { use: changes } : {}) });
  if (use in run) return run as Using<U>;
  return reject({ who: path, needed: `a run that can ${words[use]}`, got: `one of kind ${run.kind}` }, 2);
}

const segmented: readonly RunKind[] = ["search", "seeds", "retrain"];
/** Flags that only some kinds of runs understand. */
const understood: Readonly<Record<string, readonly RunKind[]>> = {
  corpus: ["pretrain", "imported", "finetune"],
  evaluationMemory: segmented,
  mixture: segmented,
};

/** Refuses flags that a run of this kind does not understand. */
export function refuseFlags({ kind, path }: Pick<AnyRun, "kind" | "path">, flags: Readonly<Record<string, unknown>>) {
  const given = Object.keys(understood).filter((name) => flags[name] !== undefined);
  const stranger = given.find((name) => !understood[name]!.includes(kind));
  if (stranger === undefined) return;
  const needed = `a run of kind ${understood[stranger]!.join(", ")} for ${flagOf(stranger)}`;
  reject({ who: path, needed, got: `one of kind ${kind}`, remedy: "leave it out" }, 2);
}
