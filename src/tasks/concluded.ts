/** What a run that has ended came to, out of its folder. */
import { loadStateDict } from "../model/state-dict.ts";
import type { Parameter } from "../nn/index.ts";
import type { RunFolder } from "../runs/folder.ts";
import type { TrainState } from "../train/events.ts";
import type { TrainResult } from "../train/train.ts";

/** What training comes to, whatever the model is. */
export type Outcome = Omit<TrainResult, "model">;

/** The outcome of a run whose last state is given. */
export async function concludedFrom(
  run: RunFolder,
  parameters: readonly Parameter[],
  { weights, progress }: TrainState,
): Promise<Outcome> {
  const evaluations = (await run.events()).filter((event) => event.type === "evaluation");
  return {
    weights: loadStateDict(parameters, weights, run.path),
    best: await bestIn(run, parameters),
    evaluation: evaluations.at(-1),
    reason: progress.step === progress.totalSteps ? "finished" : "stopped early",
    steps: progress.step,
    elapsedMs: progress.elapsedMs,
  };
}

/** The best evaluation of all sessions of a run, with its weights. */
export async function bestIn(run: RunFolder, parameters: readonly Parameter[]): Promise<Outcome["best"]> {
  if (!(await run.checkpoints()).some(({ best }) => best)) return undefined;
  const { step, state } = await run.readCheckpoint("best");
  const loss = state.progress.best?.loss ?? Number.NaN;
  return { step, loss, weights: loadStateDict(parameters, state.weights, `${run.path}, step ${step}`) };
}
