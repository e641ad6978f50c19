/** Runs of any kind for the commands that use them: what a kind cannot do is said before anything is loaded. */
import type { DepthUse } from "../depth/index.ts";
import type { Engine } from "../index.ts";
import type { CheckpointChoice } from "../runs/index.ts";
import type { EngineSettings, RunUse, RunWith } from "../tasks/index.ts";
import { flagOf } from "../tasks/settings/index.ts";
import { say } from "./output.ts";

/** Which checkpoint, and what is changed of its depth. */
export interface UseFlags extends DepthUse {
  checkpoint?: CheckpointChoice | undefined;
  threads?: number | undefined;
  int8?: boolean | undefined;
}

/** The flags that are not about which checkpoint is used and how deep. */
export function besidesUse<T extends UseFlags>(flags: T): Omit<T, keyof UseFlags> {
  const { checkpoint, threads, int8, loops, cap, threshold, exit, keys, ...others } = flags;
  return others;
}

/** The engine that flags ask for; none where they say nothing of it. */
export async function engineOf(settings: EngineSettings): Promise<Engine | undefined> {
  if (!Object.values(settings).some(Boolean)) return undefined;
  return (await import("../tasks/index.ts")).defaultEngine(settings);
}

/** What flags change of a model's depth, as runs are opened with it. */
export function depthUse({ loops, cap, threshold, exit, keys }: UseFlags): { use?: DepthUse } {
  const use = { loops, cap, threshold, exit, keys };
  return Object.values(use).some((each) => each !== undefined) ? { use } : {};
}

/** Opens a run that can do what a command is for; flags that a run of its kind does not understand are refused. */
export async function openUsing<U extends RunUse>(
  path: string,
  use: U,
  asked: UseFlags = {},
  flags: object = {},
): Promise<RunWith<U>> {
  const { openRunWith, refuseOptions } = await import("../tasks/index.ts");
  const { checkpoint, threads, int8 } = asked;
  const engine = await engineOf({ threads, int8 });
  const opened = await openRunWith(path, use, { checkpoint, engine, say, ...depthUse(asked) });
  refuseOptions(opened, { ...flags }, flagOf);
  return opened;
}
