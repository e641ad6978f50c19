/** `layerwise reproduce`: a paper's experiment at laptop size, and a report with its table beside ours. */
import { Argument, type Command, Option } from "commander";
import { LARGEST, table } from "../../base/index.ts";
import type { PaperName, ReproduceOptions, ReproduceResult } from "../../sweep/index.ts";
import { ON, wholeFrom } from "../flags.ts";
import { fitted } from "../help.ts";
import { print, say } from "../output.ts";

const examples = `
share: Takase and Kiyono, sharing across layers: translation of Multi30k and language models of WikiText-2, five models each.
search: Mandava et al., Pay Attention when Required: a supernet on WikiText-2, networks of its front beside published ones.
adapt: Simoulin and Crabbé, How Many Layers and Why: an ALBERT that halts, depth by kind of token, fine-tuned on SST-2.

The laptop size takes hours, with three seeds a night for share; the command measures a few updates and says how many before it
begins, --dry-run says no more than that. Stopped or killed, the same command goes on: trainings that have ended are not done again, and more seeds may be asked for.
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
    .addOption(new Option("--preset <name>", "how large (default: laptop)").choices(["tiny", "laptop"]))
    .option("--seeds <n>", "trainings of each model, seeds 1 to n (default: 3)", wholeFrom(1, LARGEST.seeds))
    .option("--out <dir>", "folder of runs and report (default: runs/reproduce-PAPER)")
    .option("--data <dir>", "folder of datasets (default: LAYERWISE_DATA, or one in the cache)")
    .option("--threads <n>", "threads of ONNX Runtime (default: physical cores)", wholeFrom(1, LARGEST.threads))
    .option("--on <launcher>", ON)
    .option("--dry-run", "say how long the trainings would take, and stop")
    .option("--json", "print only JSON")
    .addHelpText("after", fitted(examples))
    .action(run);
}

async function run(paper: PaperName, { dryRun, json, ...options }: Flags): Promise<void> {
  const { durationText, estimateReproduction, reproduce } = await import("../../sweep/index.ts");
  if (dryRun) {
    const estimate = await estimateReproduction(paper, options);
    const said = `${paper}, ${estimate.preset}, seeds: ${estimate.seeds}; ${durationText(estimate.seconds)} of training`;
    return print(json ? JSON.stringify(estimate) : said);
  }
  const { isUnfinished, watchTrials } = await import("../trials.ts");
  const start = (signal: AbortSignal) => reproduce(paper, { ...options, signal });
  const result = await watchTrials(start, { here: options.on === undefined });
  if (json) print(JSON.stringify(result));
  else await show(result);
  if (result.reason === "submitted") return say("once its trainings have ended, the same command goes on");
  isUnfinished(result.path, result.reason);
}

async function show({ claims, report }: ReproduceResult): Promise<void> {
  const { verdictLine } = await import("../../sweep/index.ts");
  print(table(claims.map(({ verdict, sentence, ours }) => ({ verdict, claim: sentence, here: ours }))));
  print(verdictLine(claims));
  say(`report: ${report.html}\n        ${report.markdown}`);
}
