/** The interface of launchers: whoever can start the trials of a sweep's folder, here or on other machines. */
import type { Values } from "../runs/settings.ts";
import type { TaskEvent } from "../tasks/job.ts";
import type { TrialReport } from "./processes.ts";
import type { SweepFolder, SweepTrial, TrialState } from "./sweep-folder.ts";

/** What happens in a sweep. */
export type SweepEvent =
  /** A round begins: its trials, and how many of them have ended before. */
  | { readonly type: "round"; readonly round: number; readonly trials: number; readonly ended: number }
  /** A trial begins, or says how far it is. */
  | { readonly type: "trial"; readonly trial: SweepTrial; readonly report?: TrialReport | undefined }
  /** A trial has ended or was stopped; `why`: what made it fail. */
  | { readonly type: "ended"; readonly trial: TrialState; readonly why?: string | undefined }
  /** What happens in a trial that runs in this process. */
  | { readonly type: "event"; readonly trial: SweepTrial; readonly event: TaskEvent }
  /** What the user should know, in words. */
  | { readonly type: "note"; readonly text: string };

/** Starts trials somewhere: in processes, through a queue, through a cluster's scheduler. */
export interface Launcher {
  /** Others run the trials in their own time: the sweep ends once they were asked to, and is read from its folder. */
  readonly handsOver?: boolean | undefined;
  /** Trials run in this process: those that `mpirun` started may train each of them together. */
  readonly together?: boolean | undefined;
  /** Defaults for settings that the sweep leaves open, such as threads. */
  below(): Promise<Values>;
  /** Runs trials of a round, and tells what happens to them. Aborting stops them after their present step, with checkpoints. */
  launch(
    folder: SweepFolder,
    waiting: readonly TrialState[],
    tell: (event: SweepEvent) => void,
    signal: AbortSignal,
  ): Promise<void>;
}
