/** `layerwise compare`: the paper's table of sharing schedules at laptop scale. */
import { join } from "node:path";
import { LARGEST, reject } from "../../base/index.ts";
import type { Result } from "../../sweep/index.ts";
import type { TrainConfig } from "../../tasks/index.ts";
import type { Command } from "../command.ts";
import {
  namesIn,
  ON,
  type SettingsFlags,
  schemaFrom,
  settingsFrom,
  settingsIn,
  trainSchemas,
  wholeFrom,
} from "../flags.ts";
import { nextLines, print, save, say } from "../output.ts";
import { isUnfinished, watchTrials } from "../session.ts";

const schemas = await trainSchemas();

const examples = `
Models: vanilla 6/6 and 3/3, universal 1/6, sequence, cycle and cycle_rev at 3/6 and 3/9 (layers that own weights / layers that run).
A sweep with one run per model and seed; runs that are finished are not trained again, others go on where they stopped.

Examples:
  layerwise compare --steps 300 --seeds 2
  layerwise compare --minutes 5 --seeds 3 --out runs/night       a night: 9 models, 3 seeds, 5 minutes each
  layerwise compare --task translate --data ~/data --minutes 20 --only "vanilla 6/6,cycle_rev 3/6"
  layerwise compare --preset tiny --steps 20 --seeds 1 --json
  layerwise compare --steps 2000 --on redis://office:6379        on the machines where layerwise worker runs

JSON: {task, seeds, rows: [{name, unique, depth, share, parameters, executedDepth, flopsPerToken, trainingFlopsPerToken,
tokensPerSecond, perplexity: {mean, deviation, values}, seconds}]}`;

interface CompareFlags extends SettingsFlags {
  out: string;
  seeds: number;
  only?: string[];
  svg?: string;
  on?: string;
}

export function addCompare(program: Command): void {
  program
    .command("compare")
    .tasks(schemas)
    .option("--seeds <n>", "runs of each model, seeds 1 to n", wholeFrom(1, LARGEST.seeds), 3)
    .option("--only <names>", "some of the models, with commas between", namesIn)
    .option("--on <launcher>", ON)
    .option("--svg <file>", "where the picture goes (default: comparison.svg in the folder)")
    .settings(schemas, {
      out: "folder of the runs (default: runs/compare)",
      dryRun: "print what each model stores and costs, with the figures of runs that are finished, and stop",
    })
    .setOptionValueWithSource("out", "runs/compare", "default")
    .explain(examples)
    .action(run);
}

/** What the comparison itself decides. */
const OWN = ["unique", "depth", "share", "plan", "decoderPlan", "seed"];

async function configFrom(flags: CompareFlags): Promise<TrainConfig> {
  const schema = await schemaFrom(schemas, flags);
  const values = settingsIn(schema, flags);
  const taken = OWN.find((key) => key in values);
  if (taken) {
    const remedy = "choose models with --only and the number of seeds with --seeds";
    reject({ who: "compare", needed: "settings that hold for all models", got: `--${taken}`, remedy }, 2);
  }
  const below = [{ source: "compare", values: { keep: 1 } }];
  return (await settingsFrom(schema, flags, below)) as TrainConfig;
}

async function run(flags: CompareFlags): Promise<void> {
  const settings = await configFrom(flags);
  const { compare, comparisonTable, contestantsNamed, figuresSoFar } = await import("../../sweep/index.ts");
  const { worldRank } = await import("../../tasks/index.ts");
  const { seeds, out: folder, dryRun, only, svg, json, on } = flags;
  const show = (rows: readonly Result[]) =>
    print(json ? JSON.stringify({ task: settings.task, seeds, rows }) : comparisonTable(rows));
  const options = { settings, rows: contestantsNamed(only, "--only"), seeds, folder, on };
  if (dryRun) return show(await figuresSoFar(options));
  const found = await watchTrials((signal) => compare({ ...options, signal }), on);
  if (isUnfinished(folder, found.reason) || worldRank() > 0) return;
  const { comparisonSvg } = await import("../../pictures/index.ts");
  const picture = svg ?? join(folder, "comparison.svg");
  await save(picture, comparisonSvg(found.rows));
  if (!json) say(`picture: ${picture}`);
  show(found.rows);
  if (!json) say(nextLines(folder, ["sweep show RUN", "runs RUN", "studio RUN"]));
}
