/** `layerwise import`: weights of ALBERTs, of models of Llama's shape, or of models that `export --format huggingface` wrote, checked and made a run. */
import { LayerwiseError, table } from "../../base/index.ts";
import type { ImportReport } from "../../tasks/index.ts";
import type { ImportRunOptions } from "../../tasks/pretrain/index.ts";
import { flagOf } from "../../tasks/settings/index.ts";
import type { Command } from "../command.ts";
import { numberFrom } from "../flags.ts";
import { nextLines, print, say } from "../output.ts";

const HELP = `
Examples:
  layerwise import pytorch_model.bin --out runs/albert           config.json and spiece.model are looked for beside the file
  layerwise import model.safetensors --config config.json --out runs/albert
  layerwise import weights-npy --config albert_config.json --out runs/albert
  layerwise import albert-base-v2 --halt --out runs/adaptive     a stock ALBERT with a halting unit to be trained
  layerwise import SmolLM2-135M --out runs/smol    a model of Llama's shape: config.json, model.safetensors and tokenizer.json
  layerwise import trained --out runs/back     what export --format huggingface wrote, after training with PyTorch

Writes a run folder: eval, depth, glue and export take it; a language model or a found network also generates, and goes on with
resume --steps N (its optimiser begins anew). A model of Llama's shape goes on as a looped one with
layerwise train --config RUN/config.yaml --init RUN --depth "1 + 2 loop(3) + 1". No code in a .bin file is ever run.`;

interface Flags extends Omit<ImportRunOptions, "into"> {
  out: string;
  force?: boolean;
  json?: boolean;
}

export function addImport(program: Command): void {
  program
    .command("import")
    .argument("<file>", "a weight file, a folder that holds one, or a folder of .npy files")
    .requiredOption("--out <run>", "run folder to write")
    .option("--config <file>", "the model's config.json (default: beside the weights)")
    .option(
      "--tokenizer <file>",
      "its tokenizer: a SentencePiece model or tokenizer.json (default: beside the weights, if there)",
    )
    .option("--halt", "add a halting unit to a stock ALBERT")
    .option("--transpose-pooler", "turn the pooler's weight, as the published ALBERT-ACT PyTorch files need")
    .option("--activation <name>", "instead of the config's hidden_act")
    .option("--ponder <x>", "penalty on depth in later training; configs of ALBERT-ACT do not say it", numberFrom(0))
    .option("--force", "replace a folder that import wrote")
    .option("--json", "print only JSON")
    .explain(HELP)
    .action(run);
}

/** The library names its options; who calls the command knows them as flags. */
const flagged = (text: string) =>
  text.replace(/importAlbert \/ (\w+)|`(\w+)`/g, (_, rule?: string, option?: string) => flagOf(rule ?? option!));

function inFlags(error: unknown): never {
  if (!(error instanceof LayerwiseError)) throw error;
  throw new LayerwiseError(flagged(error.message), error.exitCode, { code: error.code, cause: error });
}

async function run(file: string, { out, force = false, json, ...options }: Flags): Promise<void> {
  const { importRun, kindOf, nextWords, Run } = await import("../../tasks/index.ts");
  const { writeFolderAtomically } = await import("../../files/index.ts");
  let report: ImportReport | undefined;
  const fill = async (folder: string) => {
    report = await importRun(file, { ...options, into: await Run.create(folder) }).catch(inFlags);
  };
  await writeFolderAtomically(out, fill, { command: "import", force });
  const { warnings, ...found } = report!;
  for (const warning of warnings) process.stderr.write(`layerwise: warning: ${flagged(warning)}\n`);
  const row = "heads" in found ? { ...found, heads: found.heads.join(", ") || "none" } : found;
  const data = "heads" in found ? { out, ...found, warnings } : { out, ...found };
  print(json ? JSON.stringify(data) : table([{ out, ...row }]));
  if (!json) say(nextLines(out, nextWords(await kindOf(out))));
}
