/**
 * `npx tsx bench/torture/large.ts [--gigabytes 2.5] [--out DIR]`: writes a checkpoint with one tensor of that size in its weights and another
 * in its moments, reads it back and compares every value.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { RunFolder } from "../../src/runs/folder.ts";
import type { TrainState } from "../../src/train/events.ts";

const { values } = parseArgs({
  options: { gigabytes: { type: "string", default: "2.5" }, out: { type: "string", default: tmpdir() } },
});
const folder = mkdtempSync(join(values.out, "layerwise-large-"));
const count = Math.ceil((Number(values.gigabytes) * 2 ** 30) / 4);
const valueAt = (i: number, salt: number) => Math.fround(((i * 2654435761 + salt) >>> 0) / 2 ** 32);

function tensor(salt: number) {
  const data = new Float32Array(count);
  for (let i = 0; i < count; i++) data[i] = valueAt(i, salt);
  return { shape: [count], data };
}

function differences(state: TrainState): number {
  let found = 0;
  for (const [salt, data] of [state.weights.get("w")?.data, state.moments.get("m w")?.data].entries())
    for (let i = 0; i < count; i++) if (data?.[i] !== valueAt(i, salt)) found++;
  return found;
}

const progress = {
  step: 1,
  groupUpdates: [1],
  position: 1,
  streams: {},
  best: null,
  evaluationsWithoutBest: 0,
  elapsedMs: 1,
  totalSteps: null,
  finished: false,
};
try {
  const run = await RunFolder.create(join(folder, "run"), { config: "task: language\nwidth: 8\n", environment: {} });
  const state = { progress, weights: new Map([["w", tensor(0)]]), moments: new Map([["m w", tensor(1)]]) };
  const started = performance.now();
  await run.record({ type: "checkpoint", step: 1, state, best: false });
  const writtenMs = performance.now() - started;
  await run.close();
  const read = await (await RunFolder.read(join(folder, "run"))).readCheckpoint("last");
  const readMs = performance.now() - started - writtenMs;
  const wrong = differences(read.state);
  const seconds = (ms: number) => Number((ms / 1000).toFixed(1));
  console.log(JSON.stringify({ tensorBytes: count * 4, writtenS: seconds(writtenMs), readS: seconds(readMs), wrong }));
  process.exitCode = wrong ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
