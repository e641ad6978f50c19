/** Which devices train: a small model is trained for a moment on each that ONNX Runtime knows, and must learn what it learns on the processor. */
import { median } from "../base/median.ts";
import { cycle } from "../depth/plan.ts";
import type { Engine } from "../engine/engine.ts";
import { type Device, devices, ortEngine } from "../engine/ort.ts";
import { languageModel } from "../model/language/language.ts";
import { initialise } from "../nn/parameter.ts";
import { optimiserGroups } from "../train/groups.ts";
import { compileStep } from "../train/open-step.ts";

/** How fast a device trains a small model: two layers of width 64, batches of 4 × 32 tokens. */
export interface DeviceTrial {
  readonly device: Device;
  readonly msPerUpdate: number;
  readonly tokensPerSecond: number;
}

const [ROWS, LENGTH, VOCABULARY, WIDTH] = [4, 32, 256, 64];
const BUDGET_MS = 400;
const MIN_UPDATES = 3;
/** How far the loss may be from the processor's after the first updates. */
const TOLERANCE = 1e-3;

/** Those of some devices on which training ran with the losses of the first, the processor, and how fast it did. */
export async function trialDevices(among: readonly Device[] = devices): Promise<DeviceTrial[]> {
  const found: DeviceTrial[] = [];
  let expected: number | undefined;
  for (const device of among) {
    const trial = await trialOn(device).catch(() => undefined);
    if (!trial) continue;
    const { loss, ms } = trial;
    expected ??= loss;
    if (Math.abs(loss - expected) > TOLERANCE) continue;
    found.push({ device, msPerUpdate: ms, tokensPerSecond: (1000 * ROWS * LENGTH) / ms });
  }
  return found;
}

async function trialOn(device: Device): Promise<{ loss: number; ms: number }> {
  const step = await trialStep(await ortEngine({ device }));
  const [losses, times]: [number[], number[]] = [[], []];
  try {
    for (const start = performance.now(); times.length < MIN_UPDATES || performance.now() - start < BUDGET_MS; ) {
      const before = performance.now();
      losses.push((await step.run(batch(losses.length), 1e-3)).loss);
      if (losses.length > 1) times.push(performance.now() - before); // the first is slow
    }
  } finally {
    await step.release();
  }
  return { loss: losses[MIN_UPDATES]!, ms: median(times) };
}

function trialStep(engine: Engine) {
  const model = languageModel({
    vocabulary: VOCABULARY,
    width: WIDTH,
    heads: 4,
    length: LENGTH,
    plan: cycle({ unique: 2, depth: 2 }),
    dropout: 0,
  });
  const { loss, inputs, noise } = model.objective({ batch: ROWS, length: LENGTH, training: true });
  const groups = optimiserGroups(model.parameters, { optimiser: "adamw", weightDecay: 0.05 });
  return compileStep({
    engine,
    loss,
    inputs,
    noise,
    groups,
    initial: initialise(model.parameters, 1),
    seed: 1,
    clipNorm: 1,
  });
}

const batch = (i: number) => {
  const tokens = (shift: number) =>
    Int32Array.from({ length: ROWS * LENGTH }, (_, k) => (13 * (k + shift) + 7 * i) % VOCABULARY);
  return { ids: tokens(0), targets: tokens(1) };
};
