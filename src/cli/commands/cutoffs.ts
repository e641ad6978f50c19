/** `layerwise cutoffs`: where to cut a vocabulary into clusters for an adaptive softmax. */
import { readFile } from "node:fs/promises";
import { type Command, InvalidArgumentError } from "commander";
import { messageOf, reject } from "../../base/errors.ts";
import { formatNumber, table } from "../../base/table.ts";
import type { Cutoffs } from "../../text/cutoffs.ts";

const examples = `
The cost of a cluster is its size times the mass of its words; the cutoffs printed have the least total, exactly.

Examples:
  layerwise cutoffs --counts counts.txt --clusters 4
  layerwise cutoffs --corpus wikitext-2 --tokenizer wiki2_12k --clusters 4 --json

Exit code: 0, or 2 when the input cannot be used.`;

interface CutoffOptions {
  counts?: string;
  clusters: number;
  corpus?: string;
  tokenizer?: string;
  data?: string;
  json?: boolean;
}

export function addCutoffs(program: Command): void {
  program
    .command("cutoffs")
    .description("find the cheapest cutoffs of an adaptive softmax from word counts")
    .option("--counts <file>", "counts or probabilities, one a line, in any order")
    .requiredOption("--clusters <k>", "number of clusters, the head included", wholeNumber)
    .option("--corpus <name|path>", "count the training text of a corpus instead")
    .option("--tokenizer <name|file>", "whose pieces to count, with --corpus")
    .option("--data <dir>", "folder of datasets and tokenizers (default: LAYERWISE_DATA, or one in the cache)")
    .option("--json", "print only JSON")
    .addHelpText("after", examples)
    .action(run);
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError("It must be a whole number from 1.");
  return value;
}

async function run(options: CutoffOptions): Promise<void> {
  const { optimalCutoffs } = await import("../../text/cutoffs.ts");
  const counts = await countsOf(options);
  const found = optimalCutoffs(counts, options.clusters);
  process.stdout.write(`${options.json ? JSON.stringify(found) : asTable(found, counts)}\n`);
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
  const { parseCounts } = await import("../../text/cutoffs.ts");
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    return reject({ who: "cutoffs", needed: "a file of counts", got: messageOf(error) }, 2);
  });
  return parseCounts(text, file);
}

async function countCorpus(name: string, model: string, data: string | undefined): Promise<Float64Array> {
  const { openCorpus } = await import("../../text/corpus.ts");
  const { openTokenizer } = await import("../../text/tokenizerfile.ts");
  const { tokensOf } = await import("../../text/tokens.ts");
  const { countTokens } = await import("../../text/cutoffs.ts");
  const where = data === undefined ? {} : { data };
  const encoder = await openTokenizer(model, where);
  const { ids } = await tokensOf(await openCorpus(name, where), "train", encoder);
  return countTokens(ids, encoder.tokenizer.size);
}

function asTable({ cutoffs, vocabulary, cost }: Cutoffs, counts: Float64Array): string {
  const sorted = counts.toSorted().reverse();
  const total = sorted.reduce((a, b) => a + b, 0);
  const rows = [...cutoffs, vocabulary].map((end, k) => {
    const start = cutoffs[k - 1] ?? 0;
    const mass = sorted.subarray(start, end).reduce((a, b) => a + b, 0);
    return {
      cluster: k === 0 ? "head" : `tail ${k}`,
      words: `${start} … ${end - 1}`,
      size: end - start,
      share: percent(mass / total),
    };
  });
  const flag = cutoffs.length > 0 ? `\ncutoffs ${cutoffs.join(",")}` : "";
  return `${table(rows)}\n\ncost ${formatNumber(cost)}, ${percent(cost / (total * vocabulary))} of one cluster's${flag}`;
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
