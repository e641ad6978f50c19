/** `layerwise cutoffs`: where to cut a vocabulary into clusters for an adaptive softmax. */
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { formatNumber, messageOf, reject, startProgress, table } from "../../base/index.ts";
import type { Cutoffs } from "../../text/index.ts";
import { whole } from "../flags.ts";
import { fitted } from "../help.ts";

const examples = `
The cost of a cluster is its size times the mass of its words; the cutoffs printed have the least total, exactly. With --measured
it is the time of a training step's softmax on this machine: the head sees all rows, a tail those that fall into it. Loss and
gradients of each part are timed at several sizes and fitted by a + b·rows + c·words + d·rows·words; the optimum for the fit is exact.

Examples:
  layerwise cutoffs --counts counts.txt --clusters 4
  layerwise cutoffs --corpus wikitext-2 --tokenizer wiki2_12k --clusters 4 --json
  layerwise cutoffs --corpus wikitext-2 --tokenizer wiki2_12k --clusters 3 --measured --width 128 --rows 1024

Exit code: 0, or 2 when the input cannot be used.`;

interface CutoffOptions {
  counts?: string;
  clusters: number;
  corpus?: string;
  tokenizer?: string;
  data?: string;
  measured?: boolean;
  width: number;
  rows: number;
  factor: number;
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
    .addHelpText("after", fitted(examples))
    .action(run);
}

async function run(options: CutoffOptions): Promise<void> {
  const { optimalCutoffs } = await import("../../text/index.ts");
  const counts = await countsOf(options);
  const plain = optimalCutoffs(counts, options.clusters);
  const text = options.measured ? await measured(options, counts, plain) : ([plain, asTable(plain, counts)] as const);
  process.stdout.write(`${options.json ? JSON.stringify(text[0]) : text[1]}\n`);
}

/** The optimum under measured costs, and a table that also says what the cutoffs of size × mass would cost. */
async function measured(
  { width, rows, factor, clusters, threads }: CutoffOptions,
  counts: Float64Array,
  plain: Cutoffs,
): Promise<readonly [Cutoffs, string]> {
  const { costsOfClusters, optimalCutoffs } = await import("../../text/index.ts");
  const { analysis, tasks } = await import("../../index.ts");
  const engine = await tasks.defaultEngine({ threads });
  const progress = startProgress("measuring", { output: process.stderr, total: 100, unit: "%" });
  const shape = { width, rows, factor, clusters, vocabulary: counts.length };
  const { costs, error } = await analysis.measureSoftmax(engine, shape, (done) => progress.at(100 * done));
  progress.end();
  const total = totalOf(counts);
  const masses = counts.map((count) => (rows * count) / total);
  const found = optimalCutoffs(masses, clusters, (k) => costs[k]!);
  const each = costsOfClusters(found, masses, (k) => costs[k]!);
  const other = costsOfClusters(plain, masses, (k) => costs[k]!).reduce((a, b) => a + b, 0);
  const body = table(clustersOf(found, counts).map((row, k) => ({ ...row, time: `${each[k]!.toFixed(3)} ms` })));
  const sums = `${found.cost.toFixed(3)} ms a step; ${plain.cutoffs.join(",") || "none"}, the cutoffs of size × mass, ${other.toFixed(3)} ms`;
  const basis = `fitted to times at ${rows} rows and width ${width}, mean error ${percent(error)}`;
  return [found, `${body}\n\n${sums} (${basis})${flagOf(found)}`];
}

async function countsOf({ counts, corpus, tokenizer, data }: CutoffOptions): Promise<Float64Array> {
  if ((counts === undefined) === (corpus === undefined) || (corpus === undefined) !== (tokenizer === undefined)) {
    const given = Object.entries({ "--counts": counts, "--corpus": corpus, "--tokenizer": tokenizer });
    const got = given.flatMap(([flag, value]) => (value === undefined ? [] : [flag])).join(" and ") || "neither";
    reject({ who: "cutoffs", needed: "either --counts or both --corpus and --tokenizer", got }, 2);
  }
  return counts === undefined ? countCorpus(corpus!, tokenizer!, data) : readCounts(counts);
}

async function readCounts(file: string): Promise<Float64Array> {
  const { parseCounts } = await import("../../text/index.ts");
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    return reject({ who: "cutoffs", needed: "a file of counts", got: messageOf(error) }, 2);
  });
  return parseCounts(text, file);
}

async function countCorpus(name: string, model: string, data: string | undefined): Promise<Float64Array> {
  const { countTokens, openCorpus, openTokenizer, tokensOf } = await import("../../text/index.ts");
  const where = data === undefined ? {} : { data };
  const encoder = await openTokenizer(model, where);
  const { ids } = await tokensOf(await openCorpus(name, where), "train", encoder);
  return countTokens(ids, encoder.tokenizer.size);
}

function asTable(found: Cutoffs, counts: Float64Array): string {
  const total = totalOf(counts);
  const share = percent(found.cost / (total * found.vocabulary));
  return `${table(clustersOf(found, counts))}\n\ncost ${formatNumber(found.cost)}, ${share} of one cluster's${flagOf(found)}`;
}

const flagOf = ({ cutoffs }: Cutoffs) => (cutoffs.length > 0 ? `\ncutoffs ${cutoffs.join(",")}` : "");

function clustersOf({ cutoffs, vocabulary }: Cutoffs, counts: Float64Array) {
  const sorted = counts.toSorted().reverse();
  const total = totalOf(sorted);
  return [...cutoffs, vocabulary].map((end, k) => {
    const start = cutoffs[k - 1] ?? 0;
    const mass = sorted.subarray(start, end).reduce((a, b) => a + b, 0);
    return {
      cluster: k === 0 ? "head" : `tail ${k}`,
      words: `${start} … ${end - 1}`,
      size: end - start,
      share: percent(mass / total),
    };
  });
}

/** Where nothing was counted, every share is 0. */
const totalOf = (counts: Float64Array) => counts.reduce((a, b) => a + b, 0) || 1;

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
