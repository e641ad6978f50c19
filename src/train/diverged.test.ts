import { expect, it } from "vitest";
import { LayerwiseError } from "../base/errors.ts";
import { referenceEngine } from "../engine/reference.ts";
import { input, log, multiply, sum } from "../graph/index.ts";
import { newParameter } from "../nn/index.ts";
import { Diverged } from "./diverged.ts";
import { sgd } from "./optimiser.ts";
import { TrainingStep } from "./step.ts";

async function stepOn(values: number[]) {
  const x = input("x", [1]);
  const { tensor } = newParameter("w", [1], () => Float32Array.of(1));
  const step = await TrainingStep.create({
    engine: referenceEngine(),
    loss: sum(log(multiply(x, tensor))),
    inputs: { x },
    noise: [],
    groups: [{ parameters: [tensor], optimiser: sgd() }],
    initial: new Map([[tensor, Float32Array.of(1)]]),
    seed: 1,
  });
  for (const value of values) await step.run({ x: [value] }, 0.5);
}

it("a loss that is not finite is an error with the step, the loss, the tensor and the rate", async () => {
  const error = await stepOn([2, -1]).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Diverged);
  expect(error).toBeInstanceOf(LayerwiseError);
  expect(error).toMatchObject({ code: "diverged", step: 2, loss: Number.NaN, learningRate: 0.5, exitCode: 1 });
  expect((error as Diverged).message).toBe(
    "training: at step 2, the loss is NaN; no checkpoint was stored: begin again with a lower learning rate (it was 0.500), a longer warm-up or tighter clipping",
  );
});

it("names the first parameter whose gradient is not finite", async () => {
  const error = await stepOn([0]).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ step: 1, loss: Number.NEGATIVE_INFINITY, parameter: "w" });
  expect((error as Diverged).message).toContain("the gradient of w is not finite");
});

it("names the checkpoint to go on from only where there is one", () => {
  const seen = { step: 9, loss: Number.NaN, parameter: "w", in: "state", learningRate: 0.02 } as const;
  expect(new Diverged(seen).message).toContain("numbers of w are not finite; no checkpoint was stored: begin again");
  expect(new Diverged({ ...seen, kept: { run: "runs/1", step: null } }).message).toContain("no checkpoint was stored");
  const { message } = new Diverged({ ...seen, kept: { run: "runs/1", step: 8 } });
  expect(message).toContain("the checkpoint of step 8 is finite");
  expect(message).toContain("`layerwise resume runs/1 --set rate=0.005`");
});
