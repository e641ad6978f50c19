/** `layerwise embed`: a vector per text, as safetensors or JSON lines. */
import { type Command, Option } from "commander";
import { reject } from "../../base/index.ts";
import type { EmbedOptions } from "../../tasks/pretrain/index.ts";
import { addCheckpointFlag, type UseFlags } from "../finished.ts";
import { whole } from "../flags.ts";
import { fitted } from "../help.ts";
import { textsFrom } from "../input.ts";
import { counting } from "../output.ts";

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
  const command = program
    .command("embed")
    .argument("<run>", "an ALBERT's run: pre-trained, imported or fine-tuned")
    .argument("[file]", "texts (default, and with -: standard input)")
    .requiredOption("--out <file>", "file to write: .safetensors or .jsonl")
    .addOption(
      new Option("--pooling <how>", "the pooled first token, or the mean of all tokens")
        .choices(["first", "mean"])
        .default("mean"),
    )
    .option("--text-column <column>", "column of the texts in a table (default: text, sentence …)")
    .option("--pair-column <column>", "column of second texts (default: none)")
    .option("--no-header", "the first line of a table is a text; columns go by their places")
    .option("--batch <n>", "texts per batch (default: 32)", whole)
    .option("--threads <n>", "threads of ONNX Runtime", whole)
    .option("--json", "print JSON");
  addCheckpointFlag(command).addHelpText("after", fitted(examples)).action(run);
}

async function run(path: string, file: string | undefined, flags: Flags): Promise<void> {
  const { out, pooling, batch, checkpoint, threads, json } = flags;
  const form = /\.(safetensors|jsonl)$/.exec(out)?.[1];
  if (!form) reject({ who: "embed / --out", needed: "a name that ends with .safetensors or .jsonl", got: out }, 2);
  const { openUsing } = await import("../opened.ts");
  const opened = await openUsing(path, "embed", { checkpoint, threads });
  const columns = { text: flags.textColumn, pair: flags.pairColumn, header: flags.header };
  const texts = await textsFrom(file, "embed", columns);
  const found = await counting("embedding", "texts", (onText) => opened.embed(texts, { pooling, batch, onText }));
  const { writeAtomically } = await import("../../files/index.ts");
  const { vectorLines, vectorTensors } = await import("../../tasks/pretrain/index.ts");
  await writeAtomically(out, form === "jsonl" ? vectorLines(texts, found) : vectorTensors(found));
  const result = { file: out, texts: texts.length, width: found.width, pooling };
  process.stdout.write(json ? `${JSON.stringify(result)}\n` : `${texts.length} vectors of ${found.width}: ${out}\n`);
}
