/** `layerwise eval`: loss, perplexity and bits per byte of a run on a split. */
import { type Command, Option } from "commander";
import { table } from "../../base/table.ts";
import type { CheckpointChoice } from "../../runs/folder.ts";
import type { Split } from "../../text/corpus.ts";
import { addCheckpointFlag } from "../finished.ts";

const examples = `
Examples:
  layerwise eval runs/1                        the validation split
  layerwise eval runs/1 --split test --json    {split, loss, perplexity, perplexityPerWord, bitsPerByte, tokens}`;

export function addEval(program: Command): void {
  const command = program
    .command("eval")
    .description("measure a run: loss, perplexity per piece and per word, bits per byte")
    .argument("<run>", "run folder")
    .addOption(
      new Option("--split <split>", "which part of the corpus").choices(["train", "valid", "test"]).default("valid"),
    )
    .option("--json", "print JSON");
  addCheckpointFlag(command).addHelpText("after", examples).action(run);
}

async function run(
  path: string,
  options: { split: Split; json?: boolean; checkpoint?: CheckpointChoice },
): Promise<void> {
  const { openRun } = await import("../finished.ts");
  const { batchesOf, textSizeOf } = await import("../session.ts");
  const { Evaluator, figures } = await import("../../train/evaluate.ts");
  const { startProgress } = await import("../../base/progress.ts");
  const { config, data, engine, model, weights } = await openRun(path, options.checkpoint);
  const batches = await batchesOf(config, data, options.split, () => {});
  const size = await textSizeOf(data, options.split);
  const { loss } = model.objective({ batch: config.batch, length: config.length, training: false });
  const evaluator = await Evaluator.create(engine, loss);
  const progress = startProgress("evaluating", { output: process.stderr, total: batches.count, unit: "batches" });
  const counted = (i: number) => {
    progress.at(i);
    return batches.at(i);
  };
  const mean = await evaluator.meanLoss(weights, { ...batches, at: counted });
  progress.end();
  await evaluator.release();
  const result = { split: options.split, ...figures(mean, batches.count * batches.tokens, size) };
  process.stdout.write(`${options.json ? JSON.stringify(result) : table([result])}\n`);
}
