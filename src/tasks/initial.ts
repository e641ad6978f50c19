/** First weights out of another run: which, and from which of its checkpoints. */
import { resolve } from "node:path";
import { loadStateDict, type NamedTensors } from "../model/state-dict.ts";
import type { Parameter } from "../nn/index.ts";
import { RunFolder } from "../runs/folder.ts";
import type { Weights } from "../train/stages.ts";
import type { Say } from "./job.ts";

/** The settings that name a run to start from. */
export interface InitialSettings {
  /** A run folder; null: weights are drawn from the seed. */
  readonly init: string | null;
  /** The step of its checkpoint; null: the last. */
  readonly initStep: number | null;
}

/** How first weights are made of those of the run, where they are not simply the model's own. */
export type Taken = (run: RunFolder, tensors: NamedTensors, who: string) => Promise<Weights>;

/** The weights that settings name, and the settings with the checkpoint that was taken written down. */
export async function initialFrom<S extends InitialSettings>(
  settings: S,
  parameters: readonly Parameter[],
  say: Say = () => {},
  take: Taken = async (_, tensors, who) => loadStateDict(parameters, tensors, who),
): Promise<{ settings: S; initial: Weights | undefined }> {
  if (settings.init === null) return { settings, initial: undefined };
  const run = await RunFolder.read(settings.init);
  const { state, step, warnings } = await run.readCheckpoint(settings.initStep ?? "last");
  warnings.forEach(say);
  const initial = await take(run, state.weights, `${settings.init}, step ${step}`);
  return { settings: { ...settings, init: resolve(settings.init), initStep: step }, initial };
}
