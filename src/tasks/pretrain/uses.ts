/** Runs of ALBERT models: measured on masked text, exported for Hugging Face. */
import { reject } from "../../base/errors.ts";
import { startProgress } from "../../base/progress.ts";
import type { FinishedRun, Measuring, RunKind, StoredRun } from "../kind.ts";
import { refuseSegmentChoices } from "../kind.ts";
import { type AlbertRun, loadedRun, needTokenizer, parseAlbertRun } from "./albert-run.ts";

const [BATCH, LENGTH, PREDICTIONS] = [8, 128, 20];

async function evaluate(run: AlbertRun, { split, corpus: asked, ...choices }: Measuring) {
  refuseSegmentChoices(choices, run.path);
  const { specialIds } = await import("../../text/masked/documents.ts");
  const { maskedTexts } = await import("./masked-texts.ts");
  const { PretrainingEvaluator } = await import("./evaluation.ts");
  const { defaultEngine } = await import("../engine.ts");
  const sizes = { length: Math.min(LENGTH, run.model.options.length), predictions: PREDICTIONS };
  const { corpus, batches } = await maskedTexts(run, { corpus: asked, split, rows: BATCH, ...sizes });
  const special = specialIds(needTokenizer(run).tokenizer);
  const engine = await defaultEngine({ threads: null, device: "cpu" });
  const all = { batches, special, texts: Number.POSITIVE_INFINITY };
  const evaluator = await PretrainingEvaluator.create(engine, run, { batch: BATCH, ...sizes }, all);
  const progress = startProgress("evaluating", { output: process.stderr, total: batches.count, unit: "batches" });
  const { scalars = {}, tokens } = await evaluator.measure(run.weights, progress.at);
  progress.end();
  await evaluator.release();
  const loss = scalars.mlm_loss ?? scalars.sop_loss!;
  return {
    ...{ corpus: corpus.name, loss, perplexity: Math.exp(loss), tokens },
    ...(scalars.mlm_accuracy === undefined ? {} : { maskedAccuracy: scalars.mlm_accuracy }),
    ...(scalars.sop_loss === undefined ? {} : { orderLoss: scalars.sop_loss, orderAccuracy: scalars.sop_accuracy }),
    ...{ meanDepth: scalars["depth/all"] ?? run.model.policy.depth, masked: tokens, texts: evaluator.texts },
  };
}

/** A fine-tuned run is measured on the texts of its task. */
async function evaluateTask({ path, step }: AlbertRun, { split, corpus, ...choices }: Measuring) {
  refuseSegmentChoices(choices, path);
  if (corpus !== undefined) {
    const remedy = "leave it out, or name the task's folder with: layerwise glue eval --glue";
    reject(
      { who: path, needed: "a run that is measured on masked text for --corpus", got: "a fine-tuned one", remedy },
      2,
    );
  }
  const { measureGlue } = await import("../finetune/predict.ts");
  const say = (text: string) => void process.stderr.write(`${text}\n`);
  const { figures, ...found } = await measureGlue(
    path,
    { split: split === "valid" ? "dev" : split, checkpoint: step },
    say,
  );
  return { ...found, ...figures };
}

async function open({ path, config, ...checkpoint }: StoredRun): Promise<FinishedRun> {
  const run = await loadedRun(path, parseAlbertRun(config, `${path}/config.yaml`), checkpoint);
  return {
    evaluate: (how) => (run.heads.classification ? evaluateTask(run, how) : evaluate(run, how)),
    continueText: () =>
      reject({ who: path, needed: "a model that continues text", got: "an ALBERT, which fills gaps" }, 2),
    exported: async () => {
      const { exportedAlbert } = await import("../exports.ts");
      return exportedAlbert(run, run.weights, run.tokenizer?.bytes);
    },
  };
}

async function resume(path: string): Promise<void> {
  const { RunFolder } = await import("../../runs/folder.ts");
  const { isTuning, resumeTuning } = await import("../finetune/run.ts");
  const { config } = await RunFolder.read(path);
  if (isTuning(parseAlbertRun(config, `${path}/config.yaml`))) return resumeTuning(path);
  return (await import("./run.ts")).resumePretraining(path);
}

export const albertRuns: RunKind = { open, resume };
