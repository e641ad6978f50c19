/** `layerwise embed`: a vector per text, as safetensors or JSON lines. */
import { reject } from "../../base/index.ts";
import type { EmbedOptions } from "../../tasks/pretrain/index.ts";
import type { Command } from "../command.ts";
import { whole } from "../flags.ts";
import { readInput } from "../input.ts";
import { openUsing, type UseFlags } from "../opened.ts";
import { counting, print, save } from "../output.ts";

const examples = `
A file that ends with .tsv, .csv or .jsonl is a table with a column of texts; any other file, and standard input, hold a text per line, or
two with a tab between.

Examples:
  layerwise embed runs/albert lines.txt --out vectors.safetensors    one tensor, embeddings [texts, width]
  layerwise embed runs/albert reviews.tsv --pooling first --out vectors.jsonl    {text, pair, embedding} per line

JSON: {file, texts, width, pooling}`;

interface Flags extends EmbedOptions, Pick<UseFlags, "checkpoint" | "threads"> {
  out: string;
  textColumn?: string;
  pairColumn?: string;
  header: boolean;
  json?: boolean;
}

export function addEmbed(program: Command): void {
  program
    .command("embed")
    .argument("<run>", "an ALBERT's run: pre-trained, imported or fine-tuned")
    .argument("[file]", "texts (default, and with -: standard input)")
    .requiredOption("--out <file>", "file to write: .safetensors or .jsonl")
    .choice("--pooling <how>", "the pooled first token, or the mean of all tokens", ["first", "mean"], "mean")
    .option("--text-column <column>", "column of the texts in a table (default: text, sentence …)")
    .option("--pair-column <column>", "column of second texts (default: none)")
    .option("--no-header", "the first line of a table is a text; columns go by their places")
    .option("--batch <n>", "texts per batch (default: 32)", whole)
    .option("--threads <n>", "threads of ONNX Runtime", whole)
    .option("--json", "print JSON")
    .checkpoint()
    .explain(examples)
    .action(run);
}

async function run(path: string, file: string | undefined, flags: Flags): Promise<void> {
  const { out, pooling, batch, json } = flags;
  const form = /\.(safetensors|jsonl)$/.exec(out)?.[1];
  if (!form) reject({ who: "embed / --out", needed: "a name that ends with .safetensors or .jsonl", got: out }, 2);
  const opened = await openUsing(path, "embed", flags);
  const { plainTexts, textsIn } = await import("../../text/index.ts");
  const columns = { text: flags.textColumn, pair: flags.pairColumn, header: flags.header };
  const isInput = file === undefined || file === "-";
  const texts = isInput ? plainTexts(await readInput(), "standard input") : await textsIn(file, "embed", columns);
  const found = await counting("embedding", "texts", (onText) => opened.embed(texts, { pooling, batch, onText }));
  const { vectorLines, vectorTensors } = await import("../../tasks/pretrain/index.ts");
  await save(out, form === "jsonl" ? vectorLines(texts, found) : vectorTensors(found));
  const result = { file: out, texts: texts.length, width: found.width, pooling };
  print(json ? JSON.stringify(result) : `${texts.length} vectors of ${found.width}: ${out}`);
}
