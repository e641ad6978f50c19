/** `layerwise plan`: which layer runs at each depth, what that stores and costs, and a picture. Loads no runtime. */
import { type Command, Option } from "commander";
import { formatNumber, LARGEST, reject, table } from "../../base/index.ts";
import {
  type PartSharing,
  type Plan,
  parsePlan,
  printPlan,
  type ShareMode,
  sharedParts,
  shareModes,
} from "../../depth/index.ts";
import type { models } from "../../index.ts";
import { flagOf, wholeFrom } from "../flags.ts";
import { fitted } from "../help.ts";

const examples = `
Examples:
  layerwise plan --unique 3 --depth 6 --share cycle
  layerwise plan --unique 6 --depth 18 --share cycle_rev --svg plan.svg
  layerwise plan --plan 0,1,2,1,2,3 --width 256 --heads 8 --json
  layerwise plan --unique 3 --depth 6 --parts attention --norms per-depth
  layerwise plan --depth "2 + 4*3 halt + 1"         a depth in words, as train takes it
  layerwise plan --depth "2 + 4 loop(8, mean=4) + 2" --width 256 --heads 8

JSON: {plan, unique, depth, parameters, flopsPerToken}: of the stack of layers, without embeddings; FLOPs of a forward pass.
With a depth in words: {depth, unique, executedDepth, parameters, flopsPerToken, meanFlopsPerToken, keyValueBytesPerToken, plan, parts}, each part
with the same figures; the mean is null where tokens decide.`;

interface PlanFlags {
  unique: number;
  depth: number | string;
  share: ShareMode;
  plan?: string;
  parts: NonNullable<PartSharing["share"]>;
  norms: NonNullable<PartSharing["norms"]>;
  width: number;
  heads: number;
  feedForward?: number;
  length: number;
  json?: boolean;
  svg?: string;
}

export function addPlan(program: Command): void {
  program
    .command("plan")
    .option("--unique <n>", "layers that own weights", wholeFrom(1, LARGEST.depth), 3)
    .option("--depth <n>", 'layers that run; or a depth in words, such as "2 + 4*3 halt + 1"', depthOf, 6)
    .addOption(
      new Option("--share <order>", "order in which they run").choices(Object.keys(shareModes)).default("cycle"),
    )
    .option("--plan <layers>", "the order by hand, such as 0,1,2,2,1,0 (instead of the three above)")
    .addOption(new Option("--parts <parts>", "what is shared").choices([...sharedParts]).default("layers"))
    .addOption(new Option("--norms <norms>", "layer norms").choices(["shared", "per-depth"]).default("shared"))
    .option("--width <n>", "width of the hidden state", wholeFrom(1, LARGEST.width), 512)
    .option("--heads <n>", "attention heads", wholeFrom(1, LARGEST.heads), 16)
    .option(
      "--feed-forward <n>",
      "width of the feed-forward layer (default: four times the width)",
      wholeFrom(1, LARGEST.hidden),
    )
    .option("--length <n>", "tokens of the text for which FLOPs are counted", wholeFrom(1, LARGEST.length), 100)
    .option("--svg <file>", "write the picture as SVG")
    .option("--json", "print only JSON")
    .addHelpText("after", fitted(examples))
    .action(run);
}

const depthOf = (text: string) => (/^\s*-?[\d.]+\s*$/.test(text) ? wholeFrom(1, LARGEST.depth)(text) : text);

const planOf = ({ plan, share, unique, depth }: PlanFlags): Plan =>
  plan === undefined ? shareModes[share]({ unique, depth: Number(depth) }) : parsePlan(plan);

async function figuresOf(plan: Plan, flags: PlanFlags) {
  const { ParameterSharedTransformerEncoder } = await import("../../model/seq2seq/index.ts");
  const { width, heads, feedForward: hidden = 4 * width, length, parts: share, norms } = flags;
  const stack = { dModel: width, nhead: heads, dimFeedforward: hidden, plan, share, norms };
  return new ParameterSharedTransformerEncoder(stack).report({ length });
}

async function run(flags: PlanFlags, command: Command): Promise<void> {
  if (typeof flags.depth === "string") return runWritten(flags.depth, flags, command);
  const plan = planOf(flags);
  const figures = await figuresOf(plan, flags);
  const unshared = await figuresOf([...plan.keys()], flags);
  const result = { plan, unique: new Set(plan).size, depth: plan.length, ...figures };
  if (flags.svg !== undefined) await writeSvg(flags.svg, result);
  if (flags.json) return void process.stdout.write(`${JSON.stringify(result)}\n`);
  const { drawPlan } = await import("../../pictures/index.ts");
  const rows = [
    { what: "plan", value: printPlan(plan) },
    { what: "layers that own weights", value: String(result.unique) },
    { what: "layers that run", value: String(result.depth) },
    { what: "parameters", value: `${millions(figures.parameters)} (unshared: ${millions(unshared.parameters)})` },
    { what: "FLOPs per token", value: `${millions(figures.flopsPerToken)} (sharing saves none)` },
  ];
  process.stdout.write(`${drawPlan(plan)}\n\n${table(rows).split("\n").slice(1).join("\n")}\n`);
}

/** Flags that a depth in words says itself, or that belong to encoders. */
const strangers = ["unique", "share", "plan", "parts", "norms"];

async function runWritten(depth: string, flags: PlanFlags, command: Command): Promise<void> {
  const stranger = strangers.find((name) => command.getOptionValueSource(name) === "cli");
  if (stranger) {
    const remedy = `leave out ${flagOf(stranger)}`;
    reject(
      {
        who: "plan",
        needed: "all of the depth in words",
        got: `${flagOf(stranger)} beside ${JSON.stringify(depth)}`,
        remedy,
      },
      2,
    );
  }
  const { models } = await import("../../index.ts");
  const { width, heads, feedForward: hidden = 4 * width, length } = flags;
  const { parts, plan, ...all } = models.depthReport(depth, { width, heads, hidden, length });
  if (flags.svg !== undefined) await writeSvg(flags.svg, { plan, unique: all.unique, depth: plan.length });
  if (flags.json) return void process.stdout.write(`${JSON.stringify({ ...all, plan, parts })}\n`);
  const { drawPlan } = await import("../../pictures/index.ts");
  const rows = [...parts, ...(parts.length > 1 ? [{ ...all, depth: "all" }] : [])].map(figureRow);
  process.stdout.write(`${all.depth}\n\n${drawPlan(plan)}\n\n${table(rows)}\n`);
}

function figureRow(figures: models.DepthFigures) {
  const {
    depth,
    unique,
    executedDepth,
    parameters,
    flopsPerToken,
    meanFlopsPerToken: mean,
    keyValueBytesPerToken: kept,
  } = figures;
  return {
    part: depth,
    "own weights": unique,
    depths: executedDepth,
    parameters: millions(parameters),
    "FLOPs per token at most": millions(flopsPerToken),
    "in the mean": mean === null ? "tokens decide" : millions(mean),
    "keys and values per token": kept === null ? "–" : `${formatNumber(kept / 1024, 2)} KiB`,
  };
}

const millions = (n: number) => `${formatNumber(n / 1e6, 2)} M`;

async function writeSvg(file: string, { plan, unique, depth }: { plan: Plan; unique: number; depth: number }) {
  const { planSvg } = await import("../../pictures/index.ts");
  const { writeAtomically } = await import("../../files/index.ts");
  const title = `${unique} ${unique === 1 ? "layer" : "layers"} of weights at ${depth} depths: ${printPlan(plan)}`;
  await writeAtomically(file, new TextEncoder().encode(planSvg(plan, title)));
}
