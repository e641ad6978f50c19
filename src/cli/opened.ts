/** Runs of any kind for the commands that use them: what a kind cannot do is said before anything is loaded. */
import { reject } from "../base/index.ts";
import type { AnyRun, RunKind } from "../index.ts";
import type { RunUse, RunWith } from "../tasks/index.ts";
import { flagOf } from "../tasks/settings/index.ts";
import type { UseFlags } from "./finished.ts";
import { say } from "./output.ts";

/** Opens a run that can do what a command is for. */
export async function openUsing<U extends RunUse>(
  path: string,
  use: U,
  { checkpoint, threads, loops, cap, threshold, exit, keys }: UseFlags & { threads?: number | undefined } = {},
): Promise<RunWith<U>> {
  const { defaultEngine, openRunWith } = await import("../tasks/index.ts");
  const engine = threads === undefined ? undefined : await defaultEngine({ threads });
  const changes = { loops, cap, threshold, exit, keys };
  const changed = Object.values(changes).some((each) => each !== undefined);
  return openRunWith(path, use, { checkpoint, engine, say, ...(changed ? { use: changes } : {}) });
}

const segmented: readonly RunKind[] = ["search", "seeds", "retrain"];
/** Flags that only some kinds of runs understand. */
const understood: Readonly<Record<string, readonly RunKind[]>> = {
  corpus: ["pretrain", "imported", "finetune", "head"],
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
