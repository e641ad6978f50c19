/** Runs of any kind for the commands that use them: what a kind cannot do is said before anything is loaded. */
import { reject } from "../base/errors.ts";
import type { CheckpointChoice } from "../runs/folder.ts";
import type { FinishedRun } from "../tasks/kind.ts";
import type { AnyRun } from "../tasks/run.ts";

const say = (text: string) => void process.stderr.write(`${text}\n`);

/** What the uses of a run are called in words. */
const words = {
  evaluate: "be evaluated",
  generate: "continue text",
  exported: "be exported",
  predict: "predict labels",
  depths: "show how deep its tokens run",
} as const;

type Use = keyof typeof words;
/** The kinds of runs that have a use. */
export type Using<U extends Use> = Extract<AnyRun, Record<U, unknown>>;

/** Opens a run that can do what a command is for. */
export async function openUsing<U extends Use>(
  path: string,
  use: U,
  checkpoint?: CheckpointChoice,
  threads?: number,
): Promise<Using<U>> {
  const { Run } = await import("../tasks/run.ts");
  const { defaultEngine } = await import("../tasks/engine.ts");
  const engine = threads === undefined ? undefined : await defaultEngine({ threads });
  const run = await Run.open(path, { checkpoint, engine, say });
  if (use in run) return run as Using<U>;
  return reject({ who: path, needed: `a run that can ${words[use]}`, got: `one of kind ${run.kind}` }, 2);
}

/** Runs that are still opened the old way. */
export async function openOld(path: string, checkpoint?: CheckpointChoice): Promise<FinishedRun | undefined> {
  const { kindOf } = await import("../tasks/run.ts");
  if ((await kindOf(path).catch(() => undefined)) !== undefined) return undefined;
  return (await import("../tasks/kinds.ts")).openRun(path, checkpoint);
}
