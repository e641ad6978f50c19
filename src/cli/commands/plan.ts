/** `layerwise plan`: which layer runs at each depth, what that stores and costs, and a picture. Loads no runtime. */
import { type Command, Option } from "commander";
import { formatNumber, LARGEST, table } from "../../base/index.ts";
import {
  type PartSharing,
  type Plan,
  parsePlan,
  printPlan,
  type ShareMode,
  sharedParts,
  shareModes,
} from "../../depth/index.ts";
import { wholeFrom } from "../flags.ts";
import { fitted } from "../help.ts";

const examples = `
Examples:
  layerwise plan --unique 3 --depth 6 --share cycle
  layerwise plan --unique 6 --depth 18 --share cycle_rev --svg plan.svg
  layerwise plan --plan 0,1,2,1,2,3 --width 256 --heads 8 --json
  layerwise plan --unique 3 --depth 6 --parts attention --norms per-depth

JSON: {plan, unique, depth, parameters, flopsPerToken}: of the stack of layers, without embeddings; FLOPs of a forward pass.`;

interface PlanFlags {
  unique: number;
  depth: number;
  share: ShareMode;
  plan?: string;
  parts: NonNullable<PartSharing["share"]>;
  norms: NonNullable<PartSharing["norms"]>;
  width: number;
  heads: number;
  hidden?: number;
  length: number;
  json?: boolean;
  svg?: string;
}

export function addPlan(program: Command): void {
  program
    .command("plan")
    .option("--unique <n>", "layers that own weights", wholeFrom(1, LARGEST.depth), 3)
    .option("--depth <n>", "layers that run", wholeFrom(1, LARGEST.depth), 6)
    .addOption(
      new Option("--share <order>", "order in which they run").choices(Object.keys(shareModes)).default("cycle"),
    )
    .option("--plan <layers>", "the order by hand, such as 0,1,2,2,1,0 (instead of the three above)")
    .addOption(new Option("--parts <parts>", "what is shared").choices([...sharedParts]).default("layers"))
    .addOption(new Option("--norms <norms>", "layer norms").choices(["shared", "per-depth"]).default("shared"))
    .option("--width <n>", "width of the hidden state", wholeFrom(1, LARGEST.width), 512)
    .option("--heads <n>", "attention heads", wholeFrom(1, LARGEST.heads), 16)
    .option(
      "--hidden <n>",
      "width of the feed-forward layer (default: four times the width)",
      wholeFrom(1, LARGEST.hidden),
    )
    .option("--length <n>", "tokens of the text for which FLOPs are counted", wholeFrom(1, LARGEST.length), 100)
    .option("--svg <file>", "write the picture as SVG")
    .option("--json", "print only JSON")
    .addHelpText("after", fitted(examples))
    .action(run);
}

const planOf = ({ plan, share, unique, depth }: PlanFlags): Plan =>
  plan === undefined ? shareModes[share]({ unique, depth }) : parsePlan(plan);

async function figuresOf(plan: Plan, flags: PlanFlags) {
  const { ParameterSharedTransformerEncoder } = await import("../../model/seq2seq/index.ts");
  const { width, heads, hidden = 4 * width, length, parts: share, norms } = flags;
  const stack = { dModel: width, nhead: heads, dimFeedforward: hidden, plan, share, norms };
  return new ParameterSharedTransformerEncoder(stack).report({ length });
}

async function run(flags: PlanFlags): Promise<void> {
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

const millions = (n: number) => `${formatNumber(n / 1e6, 2)} M`;

async function writeSvg(file: string, { plan, unique, depth }: { plan: Plan; unique: number; depth: number }) {
  const { planSvg } = await import("../../pictures/index.ts");
  const { writeAtomically } = await import("../../files/index.ts");
  const title = `${unique} ${unique === 1 ? "layer" : "layers"} of weights at ${depth} depths: ${printPlan(plan)}`;
  await writeAtomically(file, new TextEncoder().encode(planSvg(plan, title)));
}
