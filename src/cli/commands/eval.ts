/** `layerwise eval`: loss, perplexity and bits per byte of a run on a split. */
import { type Row, table, withScores } from "../../base/index.ts";
import type { SegmentChoices } from "../../tasks/search/index.ts";
import type { Split } from "../../text/index.ts";
import type { Command } from "../command.ts";
import { wholeFrom } from "../flags.ts";
import { besidesUse, openUsing, type UseFlags } from "../opened.ts";
import { counting, print } from "../output.ts";

const examples = `
Examples:
  layerwise eval runs/1                        the validation split
  layerwise eval runs/1 --split test --json    {split, loss, perplexity, perplexityPerWord, bitsPerByte, tokens}
  layerwise eval runs/search-1 --evaluation-memory 128    a longer memory than in training; JSON adds
                                               {meanBatchPerplexity, evaluationMemory, mixture, pattern}
  layerwise eval runs/1 --loops 12             a looped model, deeper than it was trained; --cap, --threshold and
                                               --exit difference:0.1 for models that halt, route or have exits
  layerwise eval runs/albert --corpus notes.txt   masked pieces, order of sentences and depth of an ALBERT
  layerwise eval runs/finetune-1 --corpus test.tsv   labelled texts, with the columns that the run learnt from
  layerwise eval runs/glue/SST-2-1             the task's metrics on its dev set, as layerwise glue eval`;

interface Flags extends SegmentChoices, UseFlags {
  split: Split;
  corpus?: string;
  evaluateTokens?: number;
  json?: boolean;
}

export function addEval(program: Command): void {
  program
    .command("eval")
    .argument("<run>", "run folder")
    .splits()
    .option(
      "--corpus <name>",
      "text to measure an ALBERT on: a corpus by name, a file or a folder; of a fine-tuned one a table with labels",
    )
    .int8()
    .option(
      "--evaluate-tokens <n>",
      "at most this many tokens of the split; 0: all (default: as the run evaluates)",
      wholeFrom(0),
    )
    .option("--json", "print JSON")
    .checkpoint()
    .segments()
    .depths()
    .explain(examples)
    .action(run);
}

async function run(path: string, flags: Flags): Promise<void> {
  const { split, json, ...choices } = besidesUse(flags);
  const opened = await openUsing(path, "evaluate", flags, choices);
  const found = await counting("evaluating", "batches", async (onBatch) =>
    opened.evaluate({ split, onBatch, ...choices }),
  );
  // A fine-tuned run names its figures apart.
  const { figures = {}, ...rest } = found as typeof found & { figures?: Row };
  const result: Row = { split, ...rest, ...figures };
  print(json ? JSON.stringify(result) : table([withScores(result)]));
}
