/** Runs of any kind for the commands that use them: what a kind cannot do is said before anything is loaded. */
import type { RunUse, RunWith } from "../tasks/index.ts";
import { flagOf } from "../tasks/settings/index.ts";
import type { UseFlags } from "./finished.ts";
import { say } from "./output.ts";

/** Opens a run that can do what a command is for; flags that a run of its kind does not understand are refused. */
export async function openUsing<U extends RunUse>(
  path: string,
  use: U,
  { checkpoint, threads, int8, loops, cap, threshold, exit, keys }: UseFlags = {},
  flags: object = {},
): Promise<RunWith<U>> {
  const { defaultEngine, openRunWith, refuseOptions } = await import("../tasks/index.ts");
  const engine = threads === undefined && !int8 ? undefined : await defaultEngine({ threads, int8 });
  const changes = { loops, cap, threshold, exit, keys };
  const changed = Object.values(changes).some((each) => each !== undefined);
  const opened = await openRunWith(path, use, { checkpoint, engine, say, ...(changed ? { use: changes } : {}) });
  refuseOptions(opened, { ...flags }, flagOf);
  return opened;
}
