/** Goes on with a training run from its last checkpoint, and says how training ended. */
import { RunFolder } from "../runs/folder.ts";
import { parseConfig, resolveConfig } from "./config.ts";
import { changes, environment } from "./environment.ts";
import { type Job, type Outcome, openEngine, openJob, trainIn } from "./training.ts";

const say = (text: string) => void process.stderr.write(`${text}\n`);
const print = (text: string) => void process.stdout.write(`${text}\n`);

export async function resumeTraining(path: string): Promise<void> {
  const run = await RunFolder.open(path);
  try {
    const source = `${path}/config.yaml`;
    const config = resolveConfig([{ source, values: parseConfig(run.config, source) }]);
    run.keep = config.keep;
    const places = await run.checkpoints();
    const loaded = places.length > 0 ? await run.readCheckpoint("last") : undefined;
    loaded?.warnings.forEach(say);
    if (loaded?.state.progress.finished) {
      return print(`${path} is finished: ${loaded.step} steps; start a new run with layerwise train --init ${path}`);
    }
    const engine = await openEngine(config);
    for (const change of changes(run.environment, await environment(engine)))
      say(`not as when the run began: ${change}; results may differ in the last bit`);
    await run.cutBack(loaded?.step ?? 0);
    const job = await openJob(config, say, path, engine);
    const from = loaded ? { resume: loaded.state } : {};
    await conclude(path, job, await trainIn(run, job, from, process.stderr));
  } finally {
    run.close();
  }
}

/** Prints how training ended and what one may do next. */
export async function conclude(path: string, { task, engine }: Job, { end, last, weights }: Outcome): Promise<void> {
  if (end.reason === "aborted") {
    print(`stopped at step ${end.step}; go on with: layerwise resume ${path}`);
    return;
  }
  const figures = last
    ? `, valid perplexity ${last.perplexity.toFixed(2)} (${last.bitsPerByte.toFixed(3)} bits per byte)`
    : "";
  print(`${end.reason} after ${end.step} steps in ${(end.elapsedMs / 1000).toFixed(0)} s${figures}`);
  print(await task.afterword(path, engine, weights));
}
