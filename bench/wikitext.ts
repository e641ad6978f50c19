/** The race on WikiText-2: the same six-layer model and recipe, the same minutes on the same cores, here and in PyTorch. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { presetNamed, resolveConfig } from "../src/cli/config.ts";
import { batchesOf, openData, textSizeOf } from "../src/cli/session.ts";
import { newStep, openEngine, openWorkshop } from "../src/cli/training.ts";
import { type TensorRecord, writeSafetensors } from "../src/format/safetensors.ts";
import { tokensOf } from "../src/text/tokens.ts";
import { Evaluator, figures } from "../src/train/evaluate.ts";
import { train } from "../src/train/loop.ts";
import { schedule } from "../src/train/schedule.ts";
import { findPython, PythonPeer } from "./measure.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    slice: { type: "string", default: "15" },
    data: { type: "string" },
    optimiser: { type: "string", default: "adamw" },
    rate: { type: "string" },
    json: { type: "boolean", default: false },
  },
});

/** One after the other would give one side the noisier hour: they take turns, each by its own clock. */
const SLICE_MS = Number(values.slice) * 1000;
const minutes = Number(values.minutes);
const say = (text: string) => process.stderr.write(`${text}\n`);

const config = resolveConfig([
  { source: "preset wikitext", values: presetNamed("wikitext") },
  {
    source: "flags",
    values: {
      minutes,
      optimiser: values.optimiser as "adamw",
      ...(values.rate ? { rate: Number(values.rate) } : {}),
      ...(values.data ? { data: values.data } : {}),
    },
  },
]);
const engine = await openEngine(config);
const workshop = await openWorkshop(config, say, undefined, engine);
const data = await openData(config, say);
const [training, valid] = [await batchesOf(config, data, "train", say), await batchesOf(config, data, "valid", say)];
const step = await newStep(workshop);
const { loss } = workshop.model.objective({ batch: config.batch, length: config.length, training: false });
const evaluator = await Evaluator.create(engine, loss);

async function openPeer(folder: string): Promise<PythonPeer | undefined> {
  const python = findPython(["torch", "safetensors"]);
  if (!python) {
    say(
      "PyTorch is absent: pip install torch==2.13.0 numpy safetensors, and set LAYERWISE_PYTHON if it is not python3's",
    );
    return undefined;
  }
  const tensors = new Map<string, TensorRecord>(
    [...step.weights].map(([{ attributes }, weight]) => [
      attributes.name,
      { dtype: "F32", shape: attributes.shape, data: weight },
    ]),
  );
  for (const split of ["train", "valid"] as const) {
    const ids = Int32Array.from((await tokensOf(data.corpus, split, data.tokenizer)).ids);
    tensors.set(`data.${split}`, { dtype: "I32", shape: [ids.length], data: ids });
  }
  writeFileSync(join(folder, "race.safetensors"), writeSafetensors(tensors));
  const peerConfig = {
    ...config,
    hidden: config.hidden ?? 4 * config.width,
    vocabulary: data.tokenizer.tokenizer.size,
  };
  const args = ["--config", JSON.stringify(peerConfig), "--data", join(folder, "race.safetensors")];
  const peer = new PythonPeer(python, "torch_train.py", [
    ...args,
    "--minutes",
    String(minutes),
    "--threads",
    String(engine.threads),
  ]);
  await peer.line();
  return peer;
}

const folder = mkdtempSync(join(tmpdir(), "layerwise-race-"));
const peer = await openPeer(folder);
let [activeMs, startedAt] = [0, 0];
const events = train({
  step,
  batches: training,
  seed: 1,
  length: { minutes },
  schedule: (total) =>
    schedule(config.schedule, {
      rate: config.rate,
      floor: config.floor,
      warmup: Math.min(config.warmup, total),
      total,
    }),
  shuffle: true,
  accumulate: 1,
  evaluateEvery: Number.MAX_SAFE_INTEGER,
  checkpointEvery: Number.MAX_SAFE_INTEGER,
  now: () => activeMs + performance.now() - startedAt,
});
let [ours, theirs] = [
  { step: 0, loss: Number.NaN, done: false },
  { step: 0, loss: Number.NaN, done: peer === undefined },
];
while (!ours.done || !theirs.done) {
  startedAt = performance.now();
  while (!ours.done && performance.now() - startedAt < SLICE_MS) {
    const { value, done } = await events.next();
    if (done) ours = { ...ours, done: true };
    else if (value.type === "step") ours = { ...ours, step: value.step, loss: value.loss };
  }
  activeMs += performance.now() - startedAt;
  if (peer && !theirs.done) theirs = await peer.ask(`run ${SLICE_MS / 1000}`);
  say(
    `${(activeMs / 60_000).toFixed(1)} min  ours: step ${ours.step}, loss ${ours.loss.toFixed(3)}  PyTorch: step ${theirs.step}, loss ${theirs.loss.toFixed(3)}`,
  );
}
const size = await textSizeOf(data, "valid");
const perplexity = (mean: number) => figures(mean, valid.count * valid.tokens, size).perplexity;
const mine = perplexity(await evaluator.meanLoss(step.weights, valid));
const its = peer ? perplexity(await peer.ask<number>("evaluate")) : null;
peer?.end();
rmSync(folder, { recursive: true });
const result = {
  minutes,
  ours: { steps: ours.step, perplexity: mine },
  pytorch: peer ? { steps: theirs.step, perplexity: its } : null,
};
process.stdout.write(
  values.json
    ? `${JSON.stringify(result)}\n`
    : `after ${minutes} minutes each: layerwise ${ours.step} steps, valid perplexity ${mine.toFixed(2)}; PyTorch ${peer ? `${theirs.step} steps, ${its!.toFixed(2)}` : "absent"}\n`,
);
await Promise.all([step.release(), evaluator.release()]);
