/** Runs of ALBERT models: measured on masked text, exported for Hugging Face. */
import { reject } from "../../base/errors.ts";
import { type AlbertRun, loadedRun, needTokenizer, parseAlbertRun } from "../albertrun.ts";
import type { FinishedRun, Measuring, RunKind, StoredRun } from "./kind.ts";
import { refuseSegmentChoices } from "./kind.ts";
import { watched } from "./watched.ts";

const [BATCH, LENGTH, PREDICTIONS] = [8, 128, 20];

async function evaluate(run: AlbertRun, { split, corpus, ...choices }: Measuring) {
  refuseSegmentChoices(choices, run.path);
  const { openCorpus } = await import("../../text/corpus.ts");
  const { documentsOf } = await import("../../text/pretrainingfiles.ts");
  const { evaluateAlbert, evaluationBatches } = await import("../albertevaluation.ts");
  const { openEngine } = await import("../training.ts");
  const tokenizer = needTokenizer(run);
  const text = (key: string) => (typeof run.config.training?.[key] === "string" ? `${run.config.training[key]}` : null);
  const data = text("data");
  const source = await openCorpus(corpus ?? text("corpus") ?? undefined, data === null ? {} : { data });
  const sizes = { batch: BATCH, length: Math.min(LENGTH, run.model.options.length), predictions: PREDICTIONS };
  const batches = watched(evaluationBatches(documentsOf(source, split, tokenizer), tokenizer.tokenizer, sizes));
  const engine = await openEngine({ threads: null, device: "cpu" });
  const { maskedLoss, ...found } = await evaluateAlbert(engine, run, batches, sizes);
  batches.end();
  const loss = maskedLoss ?? found.orderLoss!;
  return { corpus: source.name, loss, perplexity: Math.exp(loss), tokens: found.masked, ...found };
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
