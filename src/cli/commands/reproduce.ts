/** `layerwise reproduce`: a paper's experiment at laptop size, and a report with its table beside ours. */

import { Argument } from "commander";
import { LARGEST } from "../../base/index.ts";
import type { PaperName, ReproduceOptions } from "../../sweep/index.ts";
import type { Command } from "../command.ts";
import { ON, wholeFrom } from "../flags.ts";
import { nextLines, print, say } from "../output.ts";
import { isUnfinished, watchTrials } from "../session.ts";

const examples = `
Papers:
  share    Takase and Kiyono, Lessons on Parameter Sharing across Layers:
           translation of Multi30k, language models of WikiText-2; 2 hours
  search   Mandava et al., Pay Attention when Required: networks of a front
           beside published ones on WikiText-2; 1 to 2 hours
  adapt    Simoulin and Crabbé, How Many Layers and Why: depth by kind of
           token after pre-training on WikiText-2, then SST-2; 1 to 2 hours

The hours are those of the laptop size with three seeds on two quiet cores. The command tries a few updates and says what to expect
here before it begins; --dry-run says no more than that. Stopped or killed, the same command goes on: trainings that have ended are
not done again, and more seeds may be asked for later.
The folder holds every run, report.html, report.md with its figures, and result.json. What agreed is worked out from the figures.

Examples:
  layerwise reproduce share --preset tiny                  seconds, on embedded texts, to see what a report has
  layerwise reproduce adapt --dry-run                      how long it would take here
  layerwise reproduce share --data ~/data
  layerwise reproduce search --seeds 5 --on local:2 --out runs/par

JSON: {paper, preset, seeds, path, reason, figures, claims: [{sentence, paper, ours, verdict}], times, report: {html, markdown}}`;

interface Flags extends Omit<ReproduceOptions, "signal" | "on"> {
  on?: string;
  dryRun?: boolean;
  json?: boolean;
}

export function addReproduce(program: Command): void {
  program
    .command("reproduce")
    .addArgument(new Argument("<paper>", "which paper").choices(["share", "search", "adapt"]))
    .choice("--preset <name>", "how large (default: laptop)", ["tiny", "laptop"])
    .option("--seeds <n>", "trainings of each model, seeds 1 to n (default: 3)", wholeFrom(1, LARGEST.seeds))
    .option("--out <dir>", "folder of runs and report (default: runs/reproduce-PAPER)")
    .option("--data <dir>", "folder of datasets (default: LAYERWISE_DATA, or one in the cache)")
    .option("--threads <n>", "threads of ONNX Runtime (default: physical cores)", wholeFrom(1, LARGEST.threads))
    .option("--on <launcher>", ON)
    .option("--dry-run", "say how long the trainings would take, and stop")
    .option("--json", "print only JSON")
    .explain(examples)
    .action(run);
}

async function run(paper: PaperName, { dryRun, json, ...options }: Flags): Promise<void> {
  const { claimsText, durationText, estimateReproduction, reproduce } = await import("../../sweep/index.ts");
  if (dryRun) {
    const estimate = await estimateReproduction(paper, options);
    const said = `${paper}, ${estimate.preset}, seeds: ${estimate.seeds}; ${durationText(estimate.seconds)} of training`;
    return print(json ? JSON.stringify(estimate) : said);
  }
  const result = await watchTrials((signal) => reproduce(paper, { ...options, signal }), options.on);
  if (json) print(JSON.stringify(result));
  else {
    print(claimsText(result.claims, process.stdout.columns));
    say(`report: ${result.report.html}\n        ${result.report.markdown}`);
    say(nextLines(result.path, ["runs RUN", "studio RUN"]));
  }
  if (result.reason === "submitted") return say("once its trainings have ended, the same command goes on");
  isUnfinished(result.path, result.reason);
}
