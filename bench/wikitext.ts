/** The race on WikiText-2: the same six-layer model and recipe, the same minutes on the same cores, here and in PyTorch. */
import { defaultEngine } from "../src/tasks/engine.ts";
import type { Rehearsal } from "../src/tasks/job.ts";
import { languageJob, openLanguage } from "../src/tasks/language/job.ts";
import { languageSettings } from "../src/tasks/language/settings.ts";
import { batchesOf, textSizeOf } from "../src/tasks/text-data.ts";
import { tokensOf } from "../src/text/files/tokens.ts";
import { figures, tokensIn } from "../src/train/evaluate.ts";
import { Evaluator } from "../src/train/evaluator.ts";
import { trainLoop } from "../src/train/loop.ts";
import { schedule } from "../src/train/schedule.ts";
import { flagsOf } from "./flags.ts";
import { type Peer, pythonPeer, recordsOf, torchPython, withTensors } from "./peer.ts";

const { values } = flagsOf({
  minutes: "10",
  slice: "15",
  data: undefined,
  optimiser: "adamw",
  rate: undefined,
  json: false,
});

/** One after the other would give one side the noisier hour: they take turns, each by its own clock. */
const SLICE_MS = Number(values.slice) * 1000;
const minutes = Number(values.minutes);
const say = (text: string) => process.stderr.write(`${text}\n`);

const config = languageSettings.resolve([
  languageSettings.preset("wikitext"),
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
const engine = await defaultEngine(config);
const parts = await openLanguage(config, { say, engine });
const { data, model } = parts;
const [training, valid] = [await batchesOf(config, data, "train", say), await batchesOf(config, data, "valid", say)];
const [{ stage }] = (await (await languageJob(parts)).rehearse()) as [Rehearsal];
const { step } = stage;
const objective = model.objective({ batch: config.batch, length: config.length, training: false });
const evaluator = await Evaluator.create(engine, objective);

async function openPeer(): Promise<Peer | undefined> {
  const python = torchPython(say);
  if (!python) return undefined;
  const tensors = recordsOf(step.weights);
  for (const split of ["train", "valid"] as const) {
    const ids = Int32Array.from((await tokensOf(data.corpus, split, data.tokenizer)).ids);
    tensors.set(`data.${split}`, { dtype: "I32", shape: [ids.length], data: ids });
  }
  const hidden = config.feedForward ?? 4 * config.width;
  const peerConfig = JSON.stringify({ ...config, hidden, vocabulary: data.tokenizer.tokenizer.size });
  const lengths = ["--minutes", String(minutes), "--threads", String(engine.threads)];
  return withTensors(tensors, async (path) => {
    const peer = pythonPeer(python, "torch_train.py", ["--config", peerConfig, "--data", path, ...lengths]);
    await peer.line();
    return peer;
  });
}

const peer = await openPeer();
let [activeMs, startedAt] = [0, 0];
const events = trainLoop({
  step,
  batches: training,
  seed: 1,
  length: { minutes },
  schedule: (total) =>
    schedule(config.schedule, {
      rate: config.rate,
      floor: config.floor,
      warmup: Math.min(config.warmup ?? 50, total),
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
const perplexity = (mean: number) => figures(mean, valid.count * tokensIn(valid), size).perplexity;
const mine = perplexity(await evaluator.meanLoss(step.weights, valid));
const its = peer ? perplexity(await peer.ask<number>("evaluate")) : null;
peer?.end();
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
await Promise.all([stage.release(), evaluator.release()]);
