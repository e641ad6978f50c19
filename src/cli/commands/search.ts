/** `layerwise search`: which kind of block a Transformer-XL wants at each depth. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { patternHelp } from "../../depth/pattern.ts";
import { parseShape, type SearchConfig, searchDefaults } from "../../tasks/search/settings.ts";
import { scheduleNames } from "../../train/schedule.ts";
import { freeFolder } from "../free-folder.ts";

const examples = `
Weights and architecture are trained on context batches with memory; π is shown at every evaluation. By turns (alternate), the
search ends early once the architecture has not changed for three quarters of its stage. Candidates that π has given up are cut, so
that later steps cost less; none in favour of identity before 0.6 of the updates, since weak weights make it look good.
The figures are exp(mean loss) per piece without noise and, in brackets, the mean of exp(batch loss).
Latency is measured on this machine before the search, per candidate. With a budget the expected latency above it is penalised;
blocks settle for the likeliest network that keeps to it, and so does the search: identity is taken only where nothing else will do.

Examples:
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --steps 2000
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --blocks 12 --epochs 4 --out runs/search
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --procedure alternate --architecture-rate 0.01 --epochs 4
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --budget 0.65 --seeds 3 --out runs/cheap
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --temperature-start 5 --temperature-end 0.2 \\
    --architecture-rate 0.03 --freeze 0.15 --settle 0.3,0.7 --steps 1500      about 1.5 times a baseline's training
  layerwise search --resume runs/search
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --pattern '(sff)x2' --steps 2000   a found network instead
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --pattern par-wikitext103-base/12 --steps 2000

${patternHelp}`;

interface Flags extends Omit<Partial<SearchConfig>, "compat" | "cut" | "latency"> {
  pattern?: string;
  compat?: string;
  /** `--no-cut` gives false. */
  cut?: number | false;
  latency?: string;
  seeds?: string;
  threads?: number;
  resume?: string;
  out?: string;
  dryRun?: boolean;
  json?: boolean;
}

const shown = (value: unknown) => ` (default: ${value})`;

export function addSearch(program: Command): void {
  const command = program
    .command("search")
    .description("search which blocks a Transformer-XL wants: attention, feed-forward or none, depth by depth");
  addModelFlags(command);
  addTrainingFlags(command);
  addSearchFlags(command);
  command.addHelpText("after", examples).action(run);
}

/** Flags have no defaults of their own: what is not given is taken from the defaults of a search. */
function addModelFlags(command: Command): void {
  const own = searchDefaults;
  command
    .option("--corpus <name|path>", "books (default), wikitext-2, a text file, or a folder with train, valid and test")
    .option("--tokenizer <name|file>", "a SentencePiece model (default: the data's own, or one trained on the text)")
    .option("--pieces <n>", "vocabulary size of a trained tokenizer", whole)
    .option("--data <dir>", "folder of datasets and tokenizers (default: LAYERWISE_DATA, or one in the cache)")
    .option("--out <dir>", "run folder (default: runs/search- and the next free number)")
    .option("--blocks <n>", `blocks to search${shown(own.blocks)}`, whole)
    .option("--pattern <text>", "train these blocks, such as (sff)x2, instead of searching")
    .option(
      "--candidates <list>",
      "what a block may be, with heads or feed-forward width: s,f,f:1024,i (default: s,f,i)",
    )
    .option("--width <n>", `width of the hidden state${shown(own.width)}`, whole)
    .option("--heads <n>", `attention heads${shown(own.heads)}`, whole)
    .option("--hidden <n>", `width of the feed-forward blocks${shown(own.hidden)}`, whole)
    .option("--memory <n>", `steps of memory${shown(own.memory)}`, fromZero)
    .option("--evaluation-memory <n>", "steps of memory in evaluation (default: as in training)", fromZero)
    .option("--dropout <rate>", `part of activations dropped in training${shown(own.dropout)}`, number)
    .option("--batch <n>", `rows of a batch${shown(own.batch)}`, whole)
    .option("--length <n>", `pieces of a segment${shown(own.length)}`, whole)
    .option("--evaluation-batch <n>", "rows of a batch in evaluation (default: as in training)", whole)
    .option("--evaluation-length <n>", "pieces of a segment in evaluation (default: as in training)", whole)
    .option("--cutoffs <list>", `ends of the softmax clusters; none: plain softmax${shown(own.cutoffs)}`, cutoffs)
    .option("--factor <n>", `each tail's projection is narrower by this${shown(own.factor)}`, number)
    .option("--projection-sizes <list>", "projection sizes, one a tail, instead of the factor", wholes)
    .option("--adaptive-input", "shorter vectors for rare words on the way in, too")
    .option("--clamp-length <n>", "positions further back count as this far", whole)
    .option("--same-length", "every position sees as many steps back")
    .addOption(
      new Option("--compat <mode>", "build the model as the TensorFlow original has it").choices(["original"]),
    );
}

function addTrainingFlags(command: Command): void {
  const own = searchDefaults;
  command
    .addOption(
      new Option(
        "--optimiser <name>",
        `muon for products inside blocks, or adamw for all${shown(own.optimiser)}`,
      ).choices(["adamw", "muon"]),
    )
    .option("--rate <rate>", `highest learning rate${shown(own.rate)}`, number)
    .option("--hidden-rate <rate>", "highest learning rate of what muon updates (default: that of the rest)", number)
    .addOption(
      new Option("--schedule <name>", `course of the rate after the warm-up${shown(own.schedule)}`).choices(
        scheduleNames,
      ),
    )
    .option("--floor <part>", `part of the rate that is left at the end${shown(own.floor)}`, number)
    .option("--warmup <n>", `updates of warm-up${shown(own.warmup)}`, fromZero)
    .option("--weight-decay <rate>", `decay of matrices${shown(own.weightDecay)}`, number)
    .option("--beta2 <part>", `what Adam's second moment keeps${shown(own.beta2)}`, number)
    .option("--clip-norm <length>", `longest gradient${shown(own.clipNorm)}`, number)
    .option("--steps <n>", "updates", whole)
    .option("--epochs <n>", "passes over the data (default: 1)", number)
    .option("--evaluate-every <n>", `updates between evaluations${shown(own.evaluateEvery)}`, whole)
    .option("--checkpoint-every <n>", `updates between checkpoints${shown(own.checkpointEvery)}`, whole)
    .option("--seed <n>", `seed of weights, noise and dropout${shown(own.seed)}`, fromZero)
    .option(
      "--seeds <n|list>",
      "search several times: so many seeds from --seed on, or these (1,5,9); the best is chosen",
    )
    .option("--threads <n>", "threads of ONNX Runtime (default: physical cores)", whole)
    .option("--resume <run>", "go on with a search from its last checkpoint, exactly as if it had never stopped")
    .option("--original-batches", "evaluate on the original's batches, whose last ones repeat tokens")
    .option("--dry-run", "print model, parameters, FLOPs, memory and an estimate of time, and stop")
    .option("--json", "print the result as JSON");
}

function addSearchFlags(command: Command): void {
  const own = searchDefaults;
  command
    .addOption(
      new Option(
        "--procedure <name>",
        `train weights and architecture together, or by turns after a freeze${shown(own.procedure)}`,
      ).choices(["joint", "alternate"]),
    )
    .option("--architecture-rate <rate>", "highest rate of the architecture (default: that of the weights)", number)
    .option("--freeze <part>", "part of the updates before π moves (default: 0, or 0.2 with alternate)", number)
    .option("--straight-through", "forward the one candidate that was drawn")
    .option("--trained-temperature", "each block learns a temperature of its own, from --temperature-start on")
    .option("--temperature-start <tau>", `first temperature${shown(own.temperatureStart)}`, number)
    .option("--temperature-end <tau>", `last temperature${shown(own.temperatureEnd)}`, number)
    .option("--cut <p>", `cut candidates whose π is below 1 − p, and compile anew${shown(own.cut)}`, number)
    .option("--no-cut", "keep all candidates to the end")
    .option(
      "--settle <from,by>",
      "between these parts of the updates blocks settle, the surest first, for one candidate beside identity",
      parts,
    )
    .option("--cut-every <n>", `updates between looks at π${shown(own.cutEvery)}`, whole)
    .option("--budget <latency>", "penalise latency above this: 3.2ms, or 0.65 of the (sf)-baseline's")
    .option("--budget-weight <n>", `weight of the penalty${shown(own.budgetWeight)}`, number)
    .option("--latency <shape>", "batch x segment + memory at which latency is measured (default: 1x64+640)");
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

const wholes = (text: string) => text.split(",").map(whole);
function parts(text: string): [number, number] {
  const found = text.split(",").map(number);
  if (found.length !== 2) throw new InvalidArgumentError("It must be two parts of the updates, such as 0.25,0.75.");
  return [found[0]!, found[1]!];
}

const cutoffs = (text: string) => (text === "none" ? [] : text.split(",").map(fromZero));

/** Settings from flags; the original is compared with as it is, so nothing is cut there unless asked for. */
export function configOf(flags: Flags): SearchConfig {
  const { pattern, compat, cut, latency, seeds: _, threads: __, out: ___, json: ____, ...rest } = flags;
  const { resume: _____, dryRun: ______, ...given } = rest;
  const own = searchDefaults;
  return {
    ...own,
    ...given,
    blocks: pattern ?? given.blocks ?? own.blocks,
    compat: compat === "original",
    // Commander answers a flag with a `--no-` twin by true where neither is given.
    cut: cut === false || (cut === undefined && compat !== undefined) ? null : typeof cut === "number" ? cut : own.cut,
    latency: latency === undefined ? own.latency : parseShape(latency),
  };
}

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function run(flags: Flags): Promise<void> {
  const { defaultEngine } = await import("../../tasks/engine.ts");
  const engine = flags.threads === undefined ? undefined : await defaultEngine({ threads: flags.threads });
  const { json = false } = flags;
  if (flags.resume !== undefined) return (await import("../resume.ts")).resume(flags.resume, { engine, json });
  const { openSearchJob, parseSeeds, search } = await import("../../tasks/search/index.ts");
  const seeds = flags.seeds === undefined ? {} : { seeds: parseSeeds(flags.seeds) };
  const options = { ...configOf(flags), ...seeds, engine, say };
  if (flags.dryRun) return (await import("../dry-run.ts")).printDryRun(await openSearchJob(options), json);
  const { newRun } = await import("../../tasks/new-run.ts");
  const { watchSession } = await import("../session.ts");
  const { choicePicture, concludeSearch } = await import("../searches.ts");
  const into = await newRun(flags.out ?? freeFolder("search-"));
  const result = await watchSession((signal) => search({ ...options, into, signal }), { picture: choicePicture });
  await concludeSearch(into.path, result, json);
}
