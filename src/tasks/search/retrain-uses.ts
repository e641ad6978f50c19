/** Runs of retrain: used like those of search; going on with one also trains its baseline and compares the two. */

import { stopOnSignals } from "../../cli/signals.ts";
import type { Engine } from "../../engine/engine.ts";
import { RunFolder } from "../../runs/folder.ts";
import { commandName } from "../command-name.ts";
import type { RunKind } from "../kind.ts";
import { finishRetraining, retrainTable } from "./retrain.ts";
import { engineOf } from "./runs.ts";
import { searchRuns } from "./uses.ts";

const print = (text: string) => void process.stdout.write(`${text}\n`);
const say = (text: string) => void process.stderr.write(`${text}\n`);

/** Trains what is left and prints the comparison, or how to go on after Ctrl-C. */
export async function concludeRetraining(path: string, engine: Engine, json = false): Promise<void> {
  const stop = stopOnSignals(process.stderr);
  try {
    const result = await finishRetraining(path, engine, say, { signal: stop.signal, output: process.stderr });
    if (result) print(json ? JSON.stringify(result) : retrainTable(result));
    else say(`stopped; go on with: ${commandName()} resume ${path}`);
  } finally {
    stop.release();
  }
}

export const retrainRuns: RunKind = {
  open: searchRuns.open,
  resume: async (path) => concludeRetraining(path, await engineOf((await RunFolder.read(path)).environment)),
};
