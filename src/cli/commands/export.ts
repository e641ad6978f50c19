/** `layerwise export`: a run's weights as ONNX and safetensors, with the config that makes them a model again. */
import { join } from "node:path";
import { formatNumber, reject, table } from "../../base/index.ts";
import type { ExportFormat, RunWith } from "../../tasks/index.ts";
import type { Command } from "../command.ts";
import { openUsing, type UseFlags } from "../opened.ts";
import { print } from "../output.ts";

const examples = `
Examples:
  layerwise export runs/1                         runs/1/export/{model.onnx, model.safetensors, config.json, tokenizer.model}
  layerwise export runs/1 --out model --checkpoint best
  layerwise export runs/1 --out small --int8      model.onnx a quarter as large; ONNX Runtime multiplies in 8-bit integers
  layerwise export runs/1 --format huggingface    runs/1/huggingface, which transformers load; \`layerwise import\` brings it back
  layerwise export runs/topics --format transformers.js                   runs/topics/transformers.js, for pipeline("text-classification")
  layerwise export runs/topics --format adapter --out adapters/topics     small files for predict --adapter
  layerwise export runs/retrain-1                 a Transformer-XL: model.onnx for segments, token.onnx for one token at a time

A Transformer-XL gives log_probabilities of all pieces, and takes what it gave: next_memory.N goes to memory.N (zeros at first), next_missing to
missing (at first the steps of memory that config.json names). Blocks that a search has not decided are mixed by π, as eval does; --format huggingface wants them decided.
A run of finetune --lora is exported with its adapters merged into the weights; --format adapter writes them apart.`;

export function addExport(program: Command): void {
  program
    .command("export")
    .argument("<run>", "run folder")
    .option("--out <dir>", "folder to write (default: in the run folder, export, or the name of the format)")
    .choice(
      "--format <name>",
      "ONNX with safetensors, a folder for Hugging Face's transformers or for transformers.js (ALBERT), or what finetune --lora learnt alone",
      ["onnx", "huggingface", "transformers.js", "adapter"],
      "onnx",
    )
    .option("--int8", "matrices of ONNX files as 8-bit integers: a quarter of the size, and faster")
    .option("--force", "replace a folder that export wrote")
    .checkpoint()
    .explain(examples)
    .action(run);
}

interface Flags extends Pick<UseFlags, "checkpoint" | "int8"> {
  out?: string;
  force?: boolean;
  format: ExportFormat | "adapter";
}

async function run(path: string, flags: Flags): Promise<void> {
  const { force, format, int8, checkpoint } = flags;
  if (int8 && format === "adapter") reject({ who: "--int8", needed: "--format onnx", got: format }, 2);
  const out = flags.out ?? join(path, format === "onnx" ? "export" : format);
  const files =
    format === "adapter"
      ? await exportAdapter(await openUsing(path, "adapter", { checkpoint }), out, force)
      : await (await openUsing(path, "export", { checkpoint })).export(out, { force, format, int8 });
  const rows = Object.entries(files).map(([file, bytes]) => ({
    file: join(out, file),
    size: `${formatNumber(bytes.length / 1e6, 2)} MB`,
  }));
  print(table(rows));
}

async function exportAdapter(run: RunWith<"adapter">, out: string, force = false) {
  const { writeAdapter } = await import("../../tasks/finetune/index.ts");
  const files = await run.adapter();
  await writeAdapter(out, files, { force });
  return files;
}
