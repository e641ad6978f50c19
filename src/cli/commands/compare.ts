/** `layerwise compare`: models side by side at laptop scale, by the paper's sharing schedules, by depth policies or by depths in words. */
import { join } from "node:path";
import { LARGEST, reject } from "../../base/index.ts";
import type { AnyContestant, ComparedSet, ModelSet, Result } from "../../sweep/index.ts";
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
Models sharing: vanilla 6/6 and 3/3, universal 1/6, sequence, cycle and cycle_rev at 3/6 and 3/9 (layers that own weights / layers that run).
Models policies: vanilla 3/3 and 6/6, cycle 3/6, looped, relaxed, halting, routed token, routed expert, exits (docs/depth.md), in two tables: at equal
parameters (the weights of 3 blocks) and at equal FLOPs per token (6 blocks in the mean).
Depths of your own: --depths "6; 3*2; 2*6 halt", in one table with the mean depth; of translation, the depth of either side. Mean depths and executed depths
of translation are those of both sides together.
A sweep with one run per model and seed; runs that are finished are not trained again, others go on where they stopped.

Examples:
  layerwise compare --steps 300 --seeds 2
  layerwise compare --minutes 5 --seeds 3 --out runs/night       a night: 9 models, 3 seeds, 5 minutes each
  layerwise compare --task translate --data ~/data --minutes 20 --only "vanilla 6/6,cycle_rev 3/6"
  layerwise compare --preset tiny --steps 20 --seeds 1 --json
  layerwise compare --models policies --steps 700 --width 128 --heads 4 --on local:2
  layerwise compare --depths "6; 3*2; 2*6 halt" --steps 700 --seeds 2     models by their depth in words (docs/depth.md)
  layerwise compare --task translate --data ~/data --depths "6" --depths "1 + 2*3 halt" --minutes 20
  layerwise compare --steps 2000 --on redis://office:6379        on the machines where layerwise worker runs

JSON: {task, seeds, rows: [{name, unique, depth, share, parameters, executedDepth, flopsPerToken, trainingFlopsPerToken,
tokensPerSecond, perplexity: {mean, deviation, values}, seconds}]}
Of policies: {task, seeds, tables: {parameters: rows, flops: rows}}, each row with equal (its tables), meanDepth and meanFlopsPerToken of its best
evaluations, and a depth in words where it has one; of depths of your own: {task, seeds, rows}, with meanDepth and meanFlopsPerToken (null where it is not known)`;

interface CompareFlags extends SettingsFlags {
  out: string;
  seeds: number;
  models: ModelSet;
  depths?: string[];
  only?: string[];
  svg?: string;
  on?: string;
}

export function addCompare(program: Command): void {
  program
    .command("compare")
    .tasks(schemas)
    .option("--seeds <n>", "runs of each model, seeds 1 to n", wholeFrom(1, LARGEST.seeds), 3)
    .choice("--models <which>", "sharing schedules, or depth policies", ["sharing", "policies"], "sharing")
    .option(
      "--depths <words>",
      'models of your own instead: depths in words with ; between, such as "6; 3*2; 2*6 halt"; may be given several times',
      depthsIn,
    )
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

/** Depths with semicolons between, since words have options with commas; behind those that were given before. */
const depthsIn = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  ...text.split(";").map((each) => each.trim()),
];

/** The set of models that flags name or write. */
async function setOf({ depths, models, only }: CompareFlags, command: Command): Promise<ComparedSet> {
  const { comparisons, contestantsNamed, writtenSet } = await import("../../sweep/index.ts");
  if (depths === undefined) {
    const set = comparisons[models];
    return { ...set, rows: contestantsNamed(only, "--only", set.rows) };
  }
  const other = command.getOptionValueSource("models") === "cli" ? "--models" : only && "--only";
  if (other) {
    const needed = "models by name or by depth";
    reject({ who: "compare", needed, got: `${other} beside --depths`, remedy: `leave out ${other}` }, 2);
  }
  return writtenSet(depths, "--depths") as ComparedSet;
}

/** What the comparison itself decides. */
const OWN = ["unique", "depth", "share", "plan", "decoderPlan", "decoderDepth", "seed"];

async function configFrom(flags: CompareFlags): Promise<TrainConfig> {
  const schema = await schemaFrom(schemas, flags);
  const values = settingsIn(schema, flags);
  const taken = OWN.find((key) => key in values);
  if (taken) {
    const remedy = "choose models with --only, or write them with --depths, and the number of seeds with --seeds";
    reject({ who: "compare", needed: "settings that hold for all models", got: `--${taken}`, remedy }, 2);
  }
  const below = [{ source: "compare", values: { keep: 1 } }];
  return (await settingsFrom(schema, flags, below)) as TrainConfig;
}

async function run(flags: CompareFlags, command: Command): Promise<void> {
  const { rows, data, text, over } = await setOf(flags, command);
  const settings = await configFrom(flags);
  const { compare, figuresSoFar } = await import("../../sweep/index.ts");
  const { worldRank } = await import("../../tasks/index.ts");
  const { seeds, out: folder, dryRun, svg, json, on } = flags;
  const show = (found: readonly Result<AnyContestant>[]) =>
    print(json ? JSON.stringify({ task: settings.task, seeds, ...data(found) }) : text(found));
  const options = { settings, rows, seeds, folder, on };
  if (dryRun) return show(await figuresSoFar(options));
  const found = await watchTrials((signal) => compare({ ...options, signal }), on);
  if (isUnfinished(folder, found.reason) || worldRank() > 0) return;
  const { comparisonSvg } = await import("../../pictures/index.ts");
  const picture = svg ?? join(folder, "comparison.svg");
  await save(picture, comparisonSvg(found.rows, over));
  if (!json) say(`picture: ${picture}`);
  show(found.rows);
  if (!json) say(nextLines(folder, ["sweep show RUN", "runs RUN", "studio RUN"]));
}
