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
  layerwise plan --model encoder --depth "1*6 halt"  as pretrain takes it
  layerwise plan --model translate --depth "2*3 halt" --decoder-depth "2*2"
  layerwise plan --model transformer-xl --depth "(sf)x2*3" --memory 64

JSON: {plan, unique, depth, parameters, flopsPerToken}: of the stack of layers, without embeddings; FLOPs of a forward pass.
With a depth in words: {depth, unique, executedDepth, parameters, flopsPerToken, meanFlopsPerToken, keyValueBytesPerToken, plan, parts}, each part
with the same figures; the mean is null where tokens decide. Of a translation: {encoder, decoder}, the same of each.`;

const models = ["language", "encoder", "translate", "transformer-xl"] as const;

interface PlanFlags {
  model?: (typeof models)[number];
  decoderDepth?: number | string;
  memory: number;
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
    .choice("--model <model>", "what a depth in words is of; default: language", models)
    .option("--decoder-depth <n>", "with --model translate: the decoder's, where it differs", depthOf)
    .option("--memory <n>", "with --model transformer-xl: steps of memory", wholeFrom(0, LARGEST.length), 64)
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
  refuseElsewhere(flags, command);
  if (typeof flags.depth === "string" || flags.model) return runWritten(textOf(flags), flags, command);
  const plan = planOf(flags);
  const { planReport, planTable } = await import("../../model/seq2seq/index.ts");
  const { width, heads, feedForward = 4 * width, length, parts: share, norms } = flags;
  const found = planReport(plan, { dModel: width, nhead: heads, dimFeedforward: feedForward, share, norms, length });
  await show(plan, flags, found.report, () => planTable(found));
}

/** A number is what it is for the command that trains such a model: of an encoder, how often one layer runs. */
const textOf = ({ model, depth }: Pick<PlanFlags, "model" | "depth">) =>
  model === "encoder" && typeof depth === "number" ? `1*${depth}` : `${depth}`;

/** Flags of one kind of model. */
const own = { decoderDepth: "translate", memory: "transformer-xl" } as const;

function refuseElsewhere({ model }: PlanFlags, command: Command): void {
  for (const [name, needed] of Object.entries(own)) {
    if (model === needed || command.getOptionValueSource(name) !== "cli") continue;
    const flag = flagOf(name);
    reject(
      { who: "plan", needed: `--model ${needed} for ${flag}`, got: model ?? "none", remedy: `leave out ${flag}` },
      2,
    );
  }
}

/** Flags that a depth in words says itself, or that belong to encoders. */
const strangers = ["unique", "share", "plan", "parts", "norms"];

async function runWritten(depth: string, flags: PlanFlags, command: Command): Promise<void> {
  const stranger = strangers.find((name) => command.getOptionValueSource(name) === "cli");
  if (stranger) {
    const [flag, needed] = [flagOf(stranger), "all of the depth in words"];
    reject({ who: "plan", needed, got: `${flag} beside ${JSON.stringify(depth)}`, remedy: `leave out ${flag}` }, 2);
  }
  const { models: lib } = await import("../../index.ts");
  const { width, heads, feedForward: hidden = 4 * width, length, memory, model = "language" } = flags;
  const sizes = { width, heads, hidden, length };
  if (model === "translate") return runSides(depth, flags, sizes);
  const report =
    model === "encoder"
      ? lib.encoderDepthReport(depth, sizes)
      : model === "language"
        ? lib.depthReport(depth, sizes)
        : lib.networkDepthReport(depth, { ...sizes, memory });
  if (!flags.json) print(`${report.depth}\n`);
  const drawn = { title: report.depth, parts: outlineOf(parseDepth(depth)) };
  await show(report.plan, flags, report, () => lib.depthReportTable(report), drawn);
}

type Sizes = Readonly<Record<"width" | "heads" | "hidden" | "length", number>>;

/** Both sides of a translation, one picture after the other. */
async function runSides(encoder: string, flags: PlanFlags, sizes: Sizes): Promise<void> {
  if (flags.svg) {
    const remedy = "draw each side by itself, with --model language";
    reject({ who: "plan", needed: "one picture for --svg", got: "two sides", remedy }, 2);
  }
  const { models: lib } = await import("../../index.ts");
  const { drawPlan } = await import("../../pictures/index.ts");
  const { translationDepthReport } = await import("../../model/seq2seq/index.ts");
  const sides = translationDepthReport({ encoder, decoder: `${flags.decoderDepth ?? encoder}` }, sizes);
  const drawn = Object.entries(sides).map(([side, report]) => {
    return `${side}: ${report.depth}\n\n${drawPlan(report.plan)}\n\n${lib.depthReportTable(report)}`;
  });
  print(flags.json ? JSON.stringify(sides) : drawn.join("\n\n"));
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
