/** Runs of the language-model task: measured, continued, exported. */

import { type FinishedRun, type RunKind, refuseCorpus, refuseSegmentChoices, type StoredRun } from "../kind.ts";
import { resumeTraining } from "../resuming.ts";
import { watched } from "../watched.ts";
import { batchesOf, firstWeights, textSizeOf } from "./parts.ts";
import { parseConfig, resolveConfig } from "./settings.ts";
import { openWorkshop } from "./training.ts";

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function open({ path, config: yaml, state, step }: StoredRun): Promise<FinishedRun> {
  const source = `${path}/config.yaml`;
  const config = resolveConfig([{ source, values: parseConfig(yaml, source) }]);
  const { data, model, engine } = await openWorkshop(config, say, path);
  const weights = firstWeights(model.parameters, config.seed, state.weights);
  return {
    evaluate: async ({ split, ...choices }) => {
      refuseSegmentChoices(choices, path);
      refuseCorpus(choices, path);
      const { Evaluator, figures } = await import("../../train/evaluate.ts");
      const batches = watched(await batchesOf(config, data, split, () => {}));
      const { loss } = model.objective({ batch: config.batch, length: config.length, training: false });
      const evaluator = await Evaluator.create(engine, loss);
      const mean = await evaluator.meanLoss(weights, batches);
      batches.end();
      await evaluator.release();
      return { ...figures(mean, batches.count * batches.tokens, await textSizeOf(data, split)) };
    },
    continueText: async function* ({ evaluationMemory, mixture, prompt, stop, ...options }) {
      refuseSegmentChoices({ evaluationMemory, mixture }, path);
      const { continueText } = await import("../continuation.ts");
      const { generate } = await import("../../model/language/generation.ts");
      const after = (ids: number[]) => generate(engine, model, weights, { ...options, prompt: ids });
      yield* continueText(data.tokenizer.tokenizer, after, { prompt, stop });
    },
    exported: async () => {
      const { exportConfig, exportOnnx, exportSafetensors } = await import("../../model/language/export.ts");
      return {
        "model.onnx": exportOnnx(model, weights),
        "model.safetensors": exportSafetensors(model, weights, { step: String(step) }),
        "config.json": new TextEncoder().encode(`${JSON.stringify(exportConfig(model), null, 2)}\n`),
        "tokenizer.model": data.tokenizer.bytes,
      };
    },
  };
}

export const languageRuns: RunKind = { open, resume: resumeTraining };
