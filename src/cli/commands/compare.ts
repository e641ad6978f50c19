/** `layerwise compare`: the paper's table of sharing schedules at laptop scale. */
import { type Command, Option } from "commander";
import { reject } from "../../base/errors.ts";
import { formatNumber, table } from "../../base/table.ts";
import type { SettingsSchema } from "../../runs/settings.ts";
import type { Contestant, Result, Spread } from "../../sweep/comparison.ts";
import { languageSettings } from "../../tasks/language/settings.ts";
import type { TrainConfig } from "../../tasks/trained-job.ts";
import { translateSettings } from "../../tasks/translate/settings.ts";
import { addRunFlags, addSettings, type SettingsFlags, schemaFrom, settingsFrom, settingsIn, whole } from "../flags.ts";

/** The tasks of this command. */
const schemas: readonly SettingsSchema[] = [languageSettings, translateSettings];

const examples = `
Models: vanilla 6/6 and 3/3, universal 1/6, sequence, cycle and cycle_rev at 3/6 and 3/9 (layers that own weights / layers that run).
One run a model and seed; runs that are finished are not trained again, others go on where they stopped.

Examples:
  layerwise compare --steps 300 --seeds 2
  layerwise compare --minutes 5 --seeds 3 --out runs/night       a night: 9 models, 3 seeds, 5 minutes each
  layerwise compare --task translate --data ~/data --minutes 20 --only "vanilla 6/6,cycle_rev 3/6"
  layerwise compare --preset tiny --steps 20 --seeds 1 --json

JSON: {task, seeds, rows: [{name, unique, depth, share, parameters, executedDepth, flopsPerToken, trainingFlopsPerToken,
tokensPerSecond, perplexity: {mean, deviation, values}, seconds}]}`;

interface CompareFlags extends SettingsFlags {
  out: string;
  seeds: number;
  only?: string;
  svg?: string;
  json?: boolean;
}

export function addCompare(program: Command): void {
  const command = program
    .command("compare")
    .addOption(
      new Option("--task <name>", "the next token of a text, or translation (default: language)").choices(
        schemas.map(({ task }) => task),
      ),
    )
    .option("--seeds <n>", "runs of each model, seeds 1 to n", whole, 3)
    .option("--only <names>", "some of the models, with commas between")
    .option("--svg <file>", "where the picture goes (default: comparison.svg in the folder)");
  addRunFlags(command, schemas, { out: "folder of the runs (default: runs/compare)", json: "print only JSON" });
  command.setOptionValueWithSource("out", "runs/compare", "default");
  addSettings(command, schemas).addHelpText("after", examples).action(run);
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

function chosen(all: readonly Contestant[], only: string | undefined): readonly Contestant[] {
  if (only === undefined) return all;
  const names = only.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !all.some((each) => each.name === name));
  if (unknown !== undefined) {
    reject({ who: "--only", needed: `some of ${all.map(({ name }) => name).join(", ")}`, got: unknown }, 2);
  }
  return all.filter(({ name }) => names.includes(name));
}

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function run(flags: CompareFlags): Promise<void> {
  const settings = await configFrom(flags);
  const { compare, contestants } = await import("../../sweep/comparison.ts");
  const { watchSession } = await import("../session.ts");
  const rows = chosen(contestants, flags.only);
  const { seeds, out: folder } = flags;
  const found = await watchSession((signal) => compare({ settings, rows, seeds, folder, signal }));
  if (found.reason === "stopped") return say("stopped; the same command goes on");
  await writePicture(flags, found.rows);
  const json = { task: settings.task, seeds, rows: found.rows };
  process.stdout.write(`${flags.json ? JSON.stringify(json) : table(found.rows.map(tableRow))}\n`);
}

async function writePicture({ svg, out, json }: CompareFlags, results: readonly Result[]): Promise<void> {
  const { join } = await import("node:path");
  const { comparisonSvg } = await import("../../pictures/comparison-picture.ts");
  const { writeAtomically } = await import("../../files/atomic.ts");
  const path = svg ?? join(out, "comparison.svg");
  await writeAtomically(path, new TextEncoder().encode(comparisonSvg(results)));
  if (!json) say(`picture: ${path}`);
}

const million = (n: number) => `${formatNumber(n / 1e6, 2)} M`;
const spread = ({ mean, deviation }: Spread) =>
  deviation === null ? formatNumber(mean, 2) : `${formatNumber(mean, 2)} ± ${formatNumber(deviation, 2)}`;

function tableRow({ name, parameters, executedDepth, ...rest }: Result) {
  return {
    model: name,
    "distinct parameters": million(parameters),
    "executed depth": executedDepth,
    "FLOPs/token": million(rest.flopsPerToken),
    "tokens/s": rest.tokensPerSecond === null ? null : formatNumber(rest.tokensPerSecond, 0),
    seconds: rest.seconds === null ? null : formatNumber(rest.seconds, 1),
    "valid perplexity": rest.perplexity && spread(rest.perplexity),
  };
}
