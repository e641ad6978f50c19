/** Runs of search and retrain: measured with memory, continued out of it, exported once their blocks are decided. */
import { reject } from "../../base/errors.ts";
import { stopOnSignals } from "../../cli/signals.ts";
import type { ParRun } from "../../model/par/par.ts";
import { RecurrentEvaluator } from "../../train/recurrent.ts";
import { commandName } from "../command-name.ts";
import {
  type FinishedRun,
  type Measuring,
  type RunKind,
  refuseCorpus,
  type SegmentChoices,
  type StoredRun,
} from "../kind.ts";
import { textSizeOf } from "../text-data.ts";
import { watched } from "../watched.ts";
import { conclusion } from "./conclusion.ts";
import { checkReach, evaluateOn, evaluationShape } from "./index.ts";
import { engineOf, finishPar, type Restored, restore } from "./runs.ts";

const say = (text: string) => void process.stderr.write(`${text}\n`);

/** Memory and mixture as asked for, or as the run evaluates. */
function settled({ config, model }: Restored, { evaluationMemory, mixture }: SegmentChoices) {
  return {
    memory: evaluationMemory ?? config.evaluationMemory ?? model.options.memory,
    evaluation: mixture ?? ("mean" as const),
  };
}

async function evaluate(run: Restored, { split, ...choices }: Measuring) {
  const { session, model, weights, config } = run;
  const { figures, tokensIn } = await import("../../train/evaluate.ts");
  const { memory, evaluation } = settled(run, choices);
  const program: ParRun = { ...evaluationShape(config), memory, evaluation, training: false };
  const size = await textSizeOf(session, split);
  if (choices.evaluationMemory !== undefined) {
    checkReach("--evaluation-memory", memory, { batch: program.batch, tokens: size.tokens });
  }
  const batches = watched(await session.batches(split, memory));
  const evaluator = await RecurrentEvaluator.create(session.engine, model.objective(program));
  const { loss, meanBatchPerplexity } = await evaluateOn(evaluator, weights, batches);
  batches.end();
  await evaluator.release();
  return {
    ...figures(loss, batches.count * tokensIn(batches), size),
    ...{ meanBatchPerplexity, evaluationMemory: memory, mixture: evaluation, pattern: model.policy.pattern(weights) },
  };
}

async function open({ path, config, state, step, environment }: StoredRun): Promise<FinishedRun> {
  const run = await restore(path, config, state, await engineOf(environment));
  const { model, weights, session } = run;
  return {
    evaluate: (how) => {
      refuseCorpus(how, path);
      return evaluate(run, how);
    },
    continueText: async function* ({ prompt, stop, evaluationMemory, mixture, ...options }) {
      const { generate } = await import("../../model/generation.ts");
      const { ranks, engine, tokenizer: opened } = session;
      const reading = settled(run, { evaluationMemory, mixture });
      const asked = { ...options, engine, tokenizer: opened.tokenizer, prompt, stop, reading };
      yield* generate({ model, weights, ranks }, asked);
    },
    exported: () => exported(run, path, step),
  };
}

async function exported({ config, session, model, weights }: Restored, path: string, step: number) {
  const open = model.policy.blocks.filter((candidates) => candidates.length > 1).length;
  if (open > 0) {
    const got = `${open} of ${model.policy.blocks.length} still with a choice`;
    const remedy = `train what was found with \`${commandName()} retrain ${path}\` and export that`;
    reject({ who: path, needed: "blocks that are decided", got, remedy }, 2);
  }
  const { exportedPar } = await import("../exports.ts");
  const { foundNetwork } = await import("../../model/par/found.ts");
  const { length, memory } = evaluationShape(config);
  const { ranks, tokenizer } = session;
  const found = foundNetwork(model, weights);
  return exportedPar(found.model, found.weights, { length, memory, ranks, step, tokenizer: tokenizer.bytes });
}

async function resume(path: string): Promise<void> {
  const { engineOfSearch } = await import("./seeds.ts");
  const stop = stopOnSignals(process.stderr);
  const running = { signal: stop.signal, output: process.stderr };
  const found = await finishPar(path, await engineOfSearch(path), say, undefined, running);
  stop.release();
  process.stdout.write(`${conclusion(path, found)}\n`);
}

export const searchRuns: RunKind = { open, resume };
