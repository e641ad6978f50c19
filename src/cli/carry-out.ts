/** Carries out the job of a command: tried with `--dry-run`, or into a run folder before the user's eyes. */

import { choicePicture, type Ended, figuresOfKind, type Job, newRun, perform, type RunKind } from "../tasks/index.ts";
import { freeFolder } from "./flags.ts";
import { concludeTraining } from "./resume.ts";
import { watchSession } from "./session.ts";

/** Where a job goes, and how it is shown. */
export interface CarryingOut {
  /** The run folder. Default: the first free one of `prefix`. */
  readonly out?: string | undefined;
  readonly prefix?: string | undefined;
  readonly dryRun?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Prints what the run would be, or trains and says how it ended. */
export async function carryOut(job: Job<Ended>, kind: RunKind, { out, prefix, dryRun, json }: CarryingOut) {
  if (dryRun) return (await import("./dry-run.ts")).printDryRun(job, json);
  const path = out ?? (await freeFolder(prefix));
  const into = await newRun(path);
  const how = { shown: figuresOfKind(kind), picture: choicePicture };
  const result = await watchSession((signal) => perform(job, { into, signal }), how);
  await concludeTraining(path, kind, result, { json, engine: job.engine });
}
