/** `layerwise plan`: which layer runs at each depth, what that stores and costs, and a picture. Loads no runtime. */
import { LARGEST, reject } from "../../base/index.ts";
import {
  outlineOf,
  type PartOutline,
  type PartSharing,
  type Plan,
  parseDepth,
  parsePlan,
  type ShareMode,
  sharedParts,
  shareModes,
} from "../../depth/index.ts";
import { flagOf } from "../../tasks/settings/index.ts";
import type { Command } from "../command.ts";
import { wholeFrom } from "../flags.ts";
import { print, save } from "../output.ts";

const examples = `
Examples:
  layerwise plan --unique 3 --depth 6 --share cycle
  layerwise plan --unique 6 --depth 18 --share cycle_rev --svg plan.svg
  layerwise plan --plan 0,1,2,1,2,3 --width 256 --heads 8 --json
  layerwise plan --unique 3 --depth 6 --parts attention --norms per-depth
  layerwise plan --depth "2 + 4*3 halt + 1"         a depth in words, as train takes it
  layerwise plan --depth "2*6 halt" --svg plan.svg  its picture: parts, passes, and where tokens may stop
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
    .choice("--share <order>", "order in which they run", Object.keys(shareModes), "cycle")
    .option("--plan <layers>", "the order by hand, such as 0,1,2,2,1,0 (instead of the three above)")
    .choice("--parts <parts>", "what is shared", sharedParts, "layers")
    .choice("--norms <norms>", "layer norms", ["shared", "per-depth"], "shared")
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
    .explain(examples)
    .action(run);
}

const depthOf = (text: string) => (/^\s*-?[\d.]+\s*$/.test(text) ? wholeFrom(1, LARGEST.depth)(text) : text);

const planOf = ({ plan, share, unique, depth }: PlanFlags): Plan =>
  plan === undefined ? shareModes[share]({ unique, depth: Number(depth) }) : parsePlan(plan);

async function run(flags: PlanFlags, command: Command): Promise<void> {
  if (typeof flags.depth === "string") return runWritten(flags.depth, flags, command);
  const plan = planOf(flags);
  const { planReport, planTable } = await import("../../model/seq2seq/index.ts");
  const { width, heads, feedForward = 4 * width, length, parts: share, norms } = flags;
  const found = planReport(plan, { dModel: width, nhead: heads, dimFeedforward: feedForward, share, norms, length });
  await show(plan, flags, found.report, () => planTable(found));
}

/** Flags that a depth in words says itself, or that belong to encoders. */
const strangers = ["unique", "share", "plan", "parts", "norms"];

async function runWritten(depth: string, flags: PlanFlags, command: Command): Promise<void> {
  const stranger = strangers.find((name) => command.getOptionValueSource(name) === "cli");
  if (stranger) {
    const [flag, needed] = [flagOf(stranger), "all of the depth in words"];
    reject({ who: "plan", needed, got: `${flag} beside ${JSON.stringify(depth)}`, remedy: `leave out ${flag}` }, 2);
  }
  const { models } = await import("../../index.ts");
  const { width, heads, feedForward: hidden = 4 * width, length } = flags;
  const { parts, plan, ...all } = models.depthReport(depth, { width, heads, hidden, length });
  if (!flags.json) print(`${all.depth}\n`);
  const drawn = { title: all.depth, parts: outlineOf(parseDepth(depth)) };
  await show(plan, flags, { ...all, plan, parts }, () => models.depthReportTable({ ...all, plan, parts }), drawn);
}

async function show(
  plan: Plan,
  { svg, json }: PlanFlags,
  data: object,
  figures: () => string,
  drawn: { title?: string; parts?: readonly PartOutline[] } = {},
): Promise<void> {
  const { drawPlan, planSvg } = await import("../../pictures/index.ts");
  await save(svg, planSvg(plan, drawn.title, drawn.parts));
  print(json ? JSON.stringify(data) : `${drawPlan(plan)}\n\n${figures()}`);
}
