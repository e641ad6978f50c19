/** A thread that tries one input after another, and says through shared memory which one it is at. */
import { parentPort, workerData } from "node:worker_threads";
import { type Find, inputNumber, judge } from "./judge.ts";
import { targets } from "./targets.ts";

/** What the thread is given. `place` is [index, number of the target, inputs tried, inputs refused]. */
export interface Work {
  readonly seed: number;
  readonly only: string | undefined;
  readonly from: number;
  readonly skip: number;
  readonly place: SharedArrayBuffer;
}

/** What it says: a find, with the input's index. */
export type Said = Find & { readonly index: number };

const { seed, only, from, skip, place } = workerData as Work;
const at = new Float64Array(place);
Error.stackTraceLimit = 5;
const chosen = targets.filter(({ name }) => only === undefined || name === only);

for (let index = from; ; index++) {
  for (const [number, target] of chosen.entries()) {
    if ((index === from && number < skip) || (only === undefined && index % (target.oneIn ?? 1) > 0)) continue;
    at[0] = index;
    at[1] = number;
    const { refused, find } = await judge(target, inputNumber(target, seed, index));
    at[2]!++;
    if (refused) at[3]!++;
    if (find) parentPort!.postMessage({ ...find, index } satisfies Said);
  }
  if (index % 16 === 0) await new Promise(setImmediate); // lets messages out
}
