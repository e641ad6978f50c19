/** `layerwise search`: which kind of block a Transformer-XL wants at each depth. */
import { existsSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Engine } from "../../engine/engine.ts";
import type { RunFolder } from "../../runs/folder.ts";
import type { TrainState } from "../../train/events.ts";
import type { Found, SearchConfig } from "../search.ts";

const examples = `
Weights and architecture are trained on context batches with memory; π is shown at every evaluation. By turns (alternate), the
search ends early once the architecture has not changed for three quarters of its stage. The figures are
exp(mean loss) per piece without noise and, in brackets, the mean of exp(batch loss).

Examples:
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --steps 2000
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --blocks 12 --epochs 4 --out runs/search
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --procedure alternate --architecture-rate 0.01 --epochs 4
  layerwise search --resume runs/search
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --pattern '(sff)x2' --steps 2000   a found network instead`;

interface Flags {
  corpus: string;
  tokenizer?: string;
  pieces?: number;
  data?: string;
  blocks: number;
  pattern?: string;
  width: number;
  heads: number;
  hidden: number;
  memory: number;
  evaluationMemory?: number;
  dropout: number;
  batch: number;
  length: number;
  cutoffs: number[];
  factor: number;
  straightThrough?: boolean;
  temperatureStart: number;
  temperatureEnd: number;
  rate: number;
  warmup: number;
  weightDecay: number;
  clipNorm: number;
  steps?: number;
  epochs?: number;
  evaluateEvery: number;
  checkpointEvery: number;
  seed: number;
  compat?: string;
  procedure: "joint" | "alternate";
  architectureRate?: number;
  freeze: number;
  originalBatches?: boolean;
  threads?: number;
  resume?: string;
  out?: string;
  json?: boolean;
}

export function addSearch(program: Command): void {
  const command = program
    .command("search")
    .description("search which blocks a Transformer-XL wants: attention, feed-forward or none, depth by depth")
    .option("--corpus <name|path>", "books, wikitext-2, a text file, or a folder with train, valid and test", "books")
    .option("--tokenizer <name|file>", "a SentencePiece model (default: the data's own, or one trained on the text)")
    .option("--pieces <n>", "vocabulary size of a trained tokenizer", whole)
    .option("--data <dir>", "folder of datasets and tokenizers (default: LAYERWISE_DATA, or one in the cache)")
    .option("--out <dir>", "run folder (default: runs/search- and the next free number)")
    .option("--blocks <n>", "blocks to search", whole, 6)
    .option("--pattern <text>", "train these blocks, such as (sff)x2, instead of searching")
    .option("--width <n>", "width of the hidden state", whole, 128)
    .option("--heads <n>", "attention heads", whole, 4)
    .option("--hidden <n>", "width of the feed-forward blocks", whole, 512)
    .option("--memory <n>", "steps of memory", fromZero, 16)
    .option("--evaluation-memory <n>", "steps of memory in evaluation (default: as in training)", fromZero)
    .option("--dropout <rate>", "part of activations dropped in training", number, 0.1)
    .option("--batch <n>", "rows of a batch", whole, 32)
    .option("--length <n>", "pieces of a segment", whole, 32)
    .option(
      "--cutoffs <list>",
      "ends of the softmax clusters, such as 250,2500; none: plain softmax",
      cutoffs,
      [250, 2500],
    )
    .option("--factor <n>", "each tail's projection is narrower by this", number, 4);
  addTrainingFlags(command).addHelpText("after", examples).action(run);
}

function addTrainingFlags(command: Command): Command {
  return command
    .addOption(
      new Option("--procedure <name>", "train weights and architecture together, or by turns after a freeze")
        .choices(["joint", "alternate"])
        .default("joint"),
    )
    .option(
      "--architecture-rate <rate>",
      "highest learning rate of the architecture (default: that of the weights)",
      number,
    )
    .option("--freeze <part>", "part of the updates before the architecture moves, with alternate", number, 0.2)
    .option("--straight-through", "forward the one candidate that was drawn")
    .option("--temperature-start <tau>", "first temperature", number, 1)
    .option("--temperature-end <tau>", "last temperature", number, 0.1)
    .option("--rate <rate>", "highest learning rate", number, 0.003)
    .option("--warmup <n>", "updates of warm-up", fromZero, 400)
    .option("--weight-decay <rate>", "decay of matrices", number, 0.01)
    .option("--clip-norm <length>", "longest gradient", number, 0.5)
    .option("--steps <n>", "updates", whole)
    .option("--epochs <n>", "passes over the data (default: 1)", number)
    .option("--evaluate-every <n>", "updates between evaluations", whole, 500)
    .option("--checkpoint-every <n>", "updates between checkpoints", whole, 500)
    .option("--seed <n>", "seed of weights, noise and dropout", fromZero, 1)
    .addOption(new Option("--compat <mode>", "build the model as the TensorFlow original has it").choices(["original"]))
    .option("--threads <n>", "threads of ONNX Runtime (default: physical cores)", whole)
    .option("--resume <run>", "go on with a search from its last checkpoint, exactly as if it had never stopped")
    .option("--original-batches", "evaluate on the original's batches, whose last ones repeat tokens")
    .option("--json", "print the result as JSON");
}

function number(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= 0 && value < Infinity))
    throw new InvalidArgumentError("It must be a number from 0.");
  return value;
}

function fromZero(text: string): number {
  const value = number(text);
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError("It must be a whole number.");
  return value;
}

function whole(text: string): number {
  const value = fromZero(text);
  if (value < 1) throw new InvalidArgumentError("It must be a whole number from 1.");
  return value;
}

const cutoffs = (text: string) => (text === "none" ? [] : text.split(",").map(fromZero));

function configOf({
  blocks,
  pattern,
  compat,
  threads: _,
  out: __,
  json: ___,
  resume: ____,
  ...flags
}: Flags): SearchConfig {
  const open = { tokenizer: null, pieces: null, data: null, steps: null, epochs: null };
  const own = { evaluationMemory: null, architectureRate: null, straightThrough: false, originalBatches: false };
  return { ...open, ...own, ...flags, blocks: pattern ?? blocks, compat: compat === "original" };
}

/** runs/search-1, runs/search-2, … */
function freeFolder(): string {
  for (let i = 1; ; i++) if (!existsSync(`runs/search-${i}`)) return `runs/search-${i}`;
}

async function run(flags: Flags): Promise<void> {
  const { openSearch, searchIn } = await import("../search.ts");
  const { ortEngine } = await import("../../engine/ort.ts");
  const engine = await ortEngine(flags.threads === undefined ? {} : { threads: flags.threads });
  const { config, open } = flags.resume === undefined ? fresh(flags, engine) : await resumed(flags.resume);
  const session = await openSearch(config, engine);
  const { folder, state } = await open();
  try {
    const found = await searchIn(folder, session, (text) => void process.stderr.write(`${text}\n`), state);
    process.stdout.write(
      `${flags.json ? JSON.stringify({ run: folder.path, ...found }) : conclusion(folder.path, found)}\n`,
    );
  } finally {
    folder.close();
  }
}

/** What to search, and how to open its folder once the request has proved sound. */
interface Request {
  readonly config: SearchConfig;
  open(): Promise<{ folder: RunFolder; state?: TrainState }>;
}

function fresh(flags: Flags, engine: Engine): Request {
  const config = configOf(flags);
  return {
    config,
    open: async () => {
      const { searchYaml } = await import("../search.ts");
      const { environment } = await import("../environment.ts");
      const { RunFolder } = await import("../../runs/folder.ts");
      const content = { config: searchYaml(config), environment: { ...(await environment(engine)) } };
      return { folder: await RunFolder.create(flags.out ?? freeFolder(), content) };
    },
  };
}

async function resumed(path: string): Promise<Request> {
  const { searchConfig } = await import("../search.ts");
  const { RunFolder } = await import("../../runs/folder.ts");
  const config = searchConfig((await RunFolder.read(path)).config, `${path}/config.yaml`);
  return {
    config,
    open: async () => {
      const folder = await RunFolder.open(path);
      const stored = (await folder.checkpoints()).length > 0 ? await folder.readCheckpoint("last") : undefined;
      await folder.cutBack(stored?.step ?? 0);
      return stored ? { folder, state: stored.state } : { folder };
    },
  };
}

function conclusion(path: string, found: Found): string {
  const { pattern, steps, elapsedMs, perplexity, meanBatchPerplexity, noisyMeanBatchPerplexity: noisy } = found;
  const time = `${steps} steps in ${(elapsedMs / 1000).toFixed(0)} s`;
  const noise = noisy === null ? "" : `, with noise ${noisy.toFixed(2)}`;
  const figures = `valid perplexity ${perplexity.toFixed(2)} (mean of batches ${meanBatchPerplexity.toFixed(2)}${noise})`;
  return `found ${pattern} after ${time}, ${figures}; see ${path}`;
}
