/** `layerwise cutoffs`: where to cut a vocabulary into clusters for an adaptive softmax. */
import { reject } from "../../base/index.ts";
import type { analysis } from "../../index.ts";
import type { Command } from "../command.ts";
import { whole } from "../flags.ts";
import { counting, print } from "../output.ts";

const examples = `
The cost of a cluster is its size times the mass of its words; the cutoffs printed have the least total, exactly. With --measured
it is the time of a training step's softmax on this machine: the head sees all rows, a tail those that fall into it. Loss and
gradients of each part are timed at several sizes and fitted by a + b·rows + c·words + d·rows·words; the optimum for the fit is exact.

Examples:
  layerwise cutoffs --counts counts.txt --clusters 4
  layerwise cutoffs --corpus wikitext-2 --tokenizer wiki2_12k --clusters 4 --json
  layerwise cutoffs --corpus wikitext-2 --tokenizer wiki2_12k --clusters 3 --measured --width 128 --rows 1024

Exit code: 0, or 2 when the input cannot be used.`;

interface CutoffOptions extends Omit<analysis.SoftmaxShape, "vocabulary"> {
  counts?: string;
  corpus?: string;
  tokenizer?: string;
  data?: string;
  measured?: boolean;
  threads?: number;
  json?: boolean;
}

export function addCutoffs(program: Command): void {
  program
    .command("cutoffs")
    .option("--counts <file>", "counts or probabilities, one a line, in any order")
    .requiredOption("--clusters <k>", "number of clusters, the head included", whole)
    .option("--corpus <name|path>", "count the training text of a corpus instead")
    .option("--tokenizer <name|file>", "whose pieces to count, with --corpus")
    .option("--data <dir>", "folder of datasets and tokenizers (default: LAYERWISE_DATA, or one in the cache)")
    .option(
      "--measured",
      "costs measured on this machine, in milliseconds of a training step, instead of size times mass",
    )
    .option("--width <n>", "width of the hidden state, with --measured", whole, 128)
    .option("--rows <n>", "rows of a step: batch times length, with --measured", whole, 1024)
    .option("--factor <n>", "each tail's projection is narrower by this, with --measured", whole, 4)
    .option("--threads <n>", "threads of ONNX Runtime, with --measured (default: physical cores)", whole)
    .option("--json", "print only JSON")
    .explain(examples)
    .action(run);
}

async function run(options: CutoffOptions): Promise<void> {
  const { cutoffsText, optimalCutoffs } = await import("../../text/index.ts");
  const counts = await countsOf(options);
  const measured = options.measured ? await measure(options, counts) : undefined;
  const found = measured?.found ?? optimalCutoffs(counts, options.clusters);
  const shown = () => measured?.text ?? cutoffsText(found, counts);
  print(options.json ? JSON.stringify(found) : shown());
}

async function measure({ width, rows, factor, clusters, threads }: CutoffOptions, counts: Float64Array) {
  const { analysis, tasks } = await import("../../index.ts");
  const engine = await tasks.defaultEngine({ threads });
  const found = await counting("measuring", "%", (at) =>
    analysis.measureCutoffs(engine, counts, { width, rows, factor, clusters }, (done) => at(100 * done, 100)),
  );
  return { found: found.found, text: analysis.measuredCutoffsText(found, counts, { rows, width }) };
}

async function countsOf({ counts, corpus, tokenizer, data }: CutoffOptions): Promise<Float64Array> {
  if ((counts === undefined) === (corpus === undefined) || (corpus === undefined) !== (tokenizer === undefined)) {
    const given = Object.entries({ "--counts": counts, "--corpus": corpus, "--tokenizer": tokenizer });
    const got = given.flatMap(([flag, value]) => (value === undefined ? [] : [flag])).join(" and ") || "neither";
    reject({ who: "cutoffs", needed: "either --counts or both --corpus and --tokenizer", got }, 2);
  }
  const { countPieces, readCounts } = await import("../../text/index.ts");
  return counts === undefined ? countPieces(corpus!, tokenizer!, { data }) : readCounts(counts);
}
