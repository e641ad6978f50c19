/** Runs of ALBERT models: measured on masked text, exported for Hugging Face. */
import { reject } from "../../base/errors.ts";
import { startProgress } from "../../base/progress.ts";
import { type AlbertRun, loadedRun, needTokenizer, parseAlbertRun } from "../albertrun.ts";
import type { FinishedRun, Measuring, RunKind, StoredRun } from "./kind.ts";
import { refuseSegmentChoices } from "./kind.ts";

const [BATCH, LENGTH, PREDICTIONS] = [8, 128, 20];

async function evaluate(run: AlbertRun, { split, corpus, ...choices }: Measuring) {
  refuseSegmentChoices(choices, run.path);
  const { openCorpus } = await import("../../text/corpus.ts");
  const { specialIds } = await import("../../text/documents.ts");
  const { drawnBatches } = await import("../../text/maskedbatches.ts");
  const { PRETRAINING_DEFAULTS } = await import("../../text/pretraining.ts");
  const { documentsOf } = await import("../../text/pretrainingfiles.ts");
  const { PretrainingEvaluator } = await import("../pretraining/evaluation.ts");
  const { openEngine } = await import("../training.ts");
  const { tokenizer, ...opened } = needTokenizer(run);
  const text = (key: string) => (typeof run.config.training?.[key] === "string" ? `${run.config.training[key]}` : null);
  const data = text("data");
  const source = await openCorpus(corpus ?? text("corpus") ?? undefined, data === null ? {} : { data });
  const sizes = { batch: BATCH, length: Math.min(LENGTH, run.model.options.length), predictions: PREDICTIONS };
  const batches = drawnBatches(documentsOf(source, split, { tokenizer, ...opened }), tokenizer, {
    ...{ ...PRETRAINING_DEFAULTS, length: sizes.length, maxPredictions: PREDICTIONS, rows: BATCH },
  });
  const engine = await openEngine({ threads: null, device: "cpu" });
  const texts = { batches, special: specialIds(tokenizer), texts: Number.POSITIVE_INFINITY };
  const evaluator = await PretrainingEvaluator.create(engine, run, sizes, texts);
  const progress = startProgress("evaluating", { output: process.stderr, total: batches.count, unit: "batches" });
  const { scalars = {}, tokens } = await evaluator.measure(run.weights, progress.at);
  progress.end();
  await evaluator.release();
  const loss = scalars.mlm_loss ?? scalars.sop_loss!;
  return {
    ...{ corpus: source.name, loss, perplexity: Math.exp(loss), tokens },
    ...(scalars.mlm_accuracy === undefined ? {} : { maskedAccuracy: scalars.mlm_accuracy }),
    ...(scalars.sop_loss === undefined ? {} : { orderLoss: scalars.sop_loss, orderAccuracy: scalars.sop_accuracy }),
    ...{ meanDepth: scalars["depth/all"] ?? run.model.policy.depth, masked: tokens, texts: evaluator.texts },
  };
}

async function open({ path, config, ...checkpoint }: StoredRun): Promise<FinishedRun> {
  const run = await loadedRun(path, parseAlbertRun(config, `${path}/config.yaml`), checkpoint);
  return {
    evaluate: (how) => evaluate(run, how),
    continueText: () =>
      reject({ who: path, needed: "a model that continues text", got: "an ALBERT, which fills gaps" }, 2),
    exported: async () => (await import("../albertexport.ts")).exportedAlbert(run),
  };
}

async function resume(path: string): Promise<void> {
  const { RunFolder } = await import("../../runs/folder.ts");
  const { isTuning, resumeTuning } = await import("../glue/run.ts");
  const { config } = await RunFolder.read(path);
  if (isTuning(parseAlbertRun(config, `${path}/config.yaml`))) return resumeTuning(path);
  return (await import("../pretraining/run.ts")).resumePretraining(path);
}

export const albertRuns: RunKind = { open, resume };
