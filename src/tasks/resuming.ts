/** Goes on with a training run from its last checkpoint, and says how training ended. */
import type { Engine } from "../engine/engine.ts";
import { RunFolder } from "../runs/folder.ts";
import type { TrainState } from "../train/events.ts";
import { defaultEngine } from "./engine.ts";
import { changes, environment } from "./environment.ts";
import type { Config } from "./language/settings.ts";

const say = (text: string) => void process.stderr.write(`${text}\n`);
const print = (text: string) => void process.stdout.write(`${text}\n`);

/** What a kind of training says so that its runs can go on. */
export interface Resumption<C extends Pick<Config, "keep" | "threads" | "device">> {
  /** Its settings, out of config.yaml. */
  settings(yaml: string, source: string): C;
  /** What to say of a run that has come to its end. */
  finished(run: RunFolder, settings: C, step: number): string | Promise<string>;
  /** Trains on from a state, or from the start where none was stored, and says how it ended. */
  train(run: RunFolder, settings: C, engine: Engine, resume: TrainState | undefined): Promise<void>;
}

/** Takes a run over, cuts it back to its last checkpoint, and trains on. */
export async function resumeWith<C extends Pick<Config, "keep" | "threads" | "device">>(
  path: string,
  kind: Resumption<C>,
): Promise<void> {
  const run = await RunFolder.open(path);
  try {
    const settings = kind.settings(run.config, `${path}/config.yaml`);
    run.keep = settings.keep;
    const loaded = (await run.checkpoints()).length > 0 ? await run.readCheckpoint("last") : undefined;
    loaded?.warnings.forEach(say);
    if (loaded?.state.progress.finished) return print(await kind.finished(run, settings, loaded.step));
    const engine = await defaultEngine(settings);
    for (const change of changes(run.environment, await environment(engine)))
      say(`not as when the run began: ${change}; results may differ in the last bit`);
    await run.cutBack(loaded?.step ?? 0);
    await kind.train(run, settings, engine, loaded?.state);
  } finally {
    run.close();
  }
}
