/** `layerwise eval`: loss, perplexity and bits per byte of a run on a split. */
import { type Row, reject, table, withScores } from "../../base/index.ts";
import type { SegmentChoices } from "../../tasks/search/index.ts";
import { flagOf } from "../../tasks/settings/index.ts";
import type { Split } from "../../text/index.ts";
import type { Command } from "../command.ts";
import { thresholdsIn, wholeFrom } from "../flags.ts";
import { besidesUse, openUsing, type UseFlags } from "../opened.ts";
import { counting, print, save } from "../output.ts";

const examples = `
Examples:
  layerwise eval runs/1                        the validation split
  layerwise eval runs/1 --split test --json    {split, loss, perplexity, perplexityPerWord, bitsPerByte, tokens}
  layerwise eval runs/search-1 --evaluation-memory 128    a longer memory than in training; JSON adds
                                               {meanBatchPerplexity, evaluationMemory, mixture, pattern}
  layerwise eval runs/1 --loops 12             a looped model, deeper than it was trained; --cap, --threshold and
                                               --exit difference:0.1 for models that halt, route or have exits
  layerwise eval runs/albert --corpus notes.txt   masked pieces, order of sentences and depth of an ALBERT
  layerwise eval runs/finetune-1 --corpus test.tsv   labelled texts, with the columns that the run learnt from
  layerwise eval runs/glue/SST-2-1             the task's metrics on its dev set, as layerwise glue eval
  layerwise eval runs/finetune-1 --threshold 0.7   tokens halt earlier than in training; --cap 3 at the latest then
  layerwise eval runs/finetune-1 --curve --out curve.svg   accuracy, depth and time under several thresholds

JSON of --curve: {task, split, texts, metric, points: [{threshold, depth, loss, figures, msPerText, timeRatio}]}; the first point is full
depth, with threshold null, and timeRatio is the time divided by that of the first.`;

interface Flags extends SegmentChoices, UseFlags {
  split: Split;
  corpus?: string;
  evaluateTokens?: number;
  json?: boolean;
  /** true: the usual thresholds. */
  curve?: true | number[];
  out?: string;
}

export function addEval(program: Command): void {
  program
    .command("eval")
    .argument("<run>", "run folder")
    .splits()
    .option(
      "--corpus <name>",
      "text to measure an ALBERT on: a corpus by name, a file or a folder; of a fine-tuned one a table with labels",
    )
    .int8()
    .option(
      "--evaluate-tokens <n>",
      "at most this many tokens of the split; 0: all (default: as the run evaluates)",
      wholeFrom(0),
    )
    .option(
      "--curve [thresholds]",
      "fine-tuned runs whose tokens halt: figures, mean depth and time under these thresholds, such as 0.9,0.5 (default: that of training, 0.9, 0.7, 0.5, 0.3)",
      thresholdsIn,
    )
    .option("--out <file>", "with --curve: draw it, as .svg or .png")
    .option("--json", "print JSON")
    .checkpoint()
    .segments()
    .depths("score above which a routed token goes on; of a fine-tuned run, probability above which a token halts")
    .explain(examples)
    .action(run);
}

async function run(path: string, flags: Flags): Promise<void> {
  if (flags.curve !== undefined) return drawCurve(path, flags, flags.curve);
  const { split, json, out, curve: _, ...choices } = besidesUse(flags);
  if (out !== undefined) reject({ who: "--out", needed: "--curve beside it", got: "none", remedy: "leave it out" }, 2);
  const opened = await openUsing(path, "evaluate", flags, choices);
  const found = await counting("evaluating", "batches", async (onBatch) =>
    opened.evaluate({ split, onBatch, ...choices }),
  );
  // A fine-tuned run names its figures apart.
  const { figures = {}, ...rest } = found as typeof found & { figures?: Row };
  const result: Row = { split, ...rest, ...figures };
  print(json ? JSON.stringify(result) : table([withScores(result)]));
}

/** Figures against depth. */
async function drawCurve(path: string, flags: Flags, asked: true | number[]): Promise<void> {
  const { split, corpus, cap, threshold, checkpoint, int8, out, json, ...others } = flags;
  const strange = Object.entries({ threshold, ...others }).find(
    ([name, value]) => name !== "curve" && value !== undefined,
  );
  if (strange) reject({ who: flagOf(strange[0]), needed: "no --curve beside it", got: "--curve" }, 2);
  const thresholds = asked === true ? undefined : asked;
  const draw = out === undefined ? undefined : pictureFor(out);
  const { checkDepthUse, kindOf } = await import("../../tasks/index.ts");
  const kind = await kindOf(path);
  for (const each of thresholds ?? [USUAL]) await checkDepthUse(path, kind, { threshold: each, cap });
  const { curveSvg, curveTable } = await import("../../tasks/finetune/index.ts");
  const opened = await openUsing(path, "curve", { checkpoint, int8, cap }, { corpus });
  const found = await counting("evaluating", "texts", (onText) => opened.curve({ split, corpus, thresholds, onText }));
  await draw?.(curveSvg(found));
  print(json ? JSON.stringify(found) : curveTable(found));
}

/** One of the thresholds that stand for all of the usual ones. */
const USUAL = 0.5;

/** Writes an SVG as the file's name ends. */
function pictureFor(file: string): (svg: string) => Promise<void> {
  if (file.endsWith(".svg")) return (svg) => save(file, svg);
  if (!file.endsWith(".png"))
    return reject({ who: "--out", needed: "a file that ends with .svg or .png", got: file }, 2);
  return async (svg) => {
    const raster = await (await import("../../tasks/index.ts")).openRaster();
    if ("because" in raster) return reject({ who: "--out", needed: "a file that ends with .svg", got: raster.because });
    await save(file, raster.png(svg).bytes);
  };
}
