/** `layerwise retrain`: trains what a search found as an ordinary network, beside the (sf)-baseline. */
import { reject } from "../../base/index.ts";
import { patternHelp, taskSettings } from "../../tasks/settings/index.ts";
import { printDryRun, runAt } from "../carry-out.ts";
import type { Command } from "../command.ts";
import { concludeRetrain } from "../conclude.ts";
import { freeFolder, layersFrom, type SettingsFlags, whole, wholeFrom } from "../flags.ts";
import { handed, nextLines, print, say } from "../output.ts";
import { watchSession } from "../session.ts";

const retrainSettings = await taskSettings.retrain();

const examples = `
The settings are those of the search unless a preset, a file or flags change them. The baseline has as many blocks, attention and feed-forward by turns, and is
trained in a folder beside the run under the same settings. Ctrl-C or a kill: layerwise resume RUN goes on, with the baseline too.

${patternHelp}

Examples:
  layerwise retrain runs/search-1                              from scratch, as long as the search
  layerwise retrain runs/search-1 --from-supernet --steps 500  from the weights of the chosen candidates
  layerwise retrain runs/front --front 5 --out runs/front-5    five networks of the front; the same command goes on
  layerwise retrain runs/front --race 5 --budget 0.65 --out runs/raced   the five best within a budget and the regular one; the best of them to its end
  layerwise retrain runs/search-1 --random 4 --out runs/null   the null test: four random networks of no more latency, trained alike
  layerwise retrain runs/front --race 5 --random 4 --budget 0.65 --out runs/raced   beside the race's winner
  layerwise retrain runs/search-1/architecture.json --baseline runs/retrain-1-baseline
  layerwise retrain par-wikitext103-base/12 --corpus wikitext-2 --tokenizer wiki2_12k --steps 2000

JSON: {run, networks: [{name, run, pattern, parameters, executedDepth, flopsPerToken, latencyMs, perplexity, meanBatchPerplexity}],
ratios: {parameters, flopsPerToken, latencyMs, perplexity}, latency: {batch, length, memory, threads}}
With --front, --race or --random: {run, networks: [{name, pattern, run, parameters, latencyMs, perplexity, supernetPerplexity}], tau, ranked (networks
that τ is over), race, nullTest: {name, pattern, perplexity, random: {mean, deviation, values}, mostMs, isBetter}, latency}`;

interface RetrainFlags extends SettingsFlags {
  front?: number;
  race?: number;
  random?: number;
  budget?: string;
  fromSupernet?: boolean;
  /** Neither flag: undefined, and a baseline is trained. */
  baseline?: string | boolean;
}

export function addRetrain(program: Command): void {
  program
    .command("retrain")
    .argument("<search>", "run folder of a search, an architecture.json, or a pattern")
    .option("--from-supernet", "start from the search's weights of the chosen candidates, embedding and softmax")
    .option("--front <n>", "train so many networks of the front instead, evenly over it, in runs below --out", whole)
    .option(
      "--race <n>",
      "train so many of the front's best within the budget, and its regular one, such as (sf)x3(f)x5i, side by side; the better ones go on",
      whole,
    )
    .option(
      "--random <n>",
      "a null test: train so many random networks of no more latency than the budget, too, drawn from the search's candidates by its seed",
      wholeFrom(2),
    )
    .option(
      "--budget <latency>",
      "of the race and of random networks: 0.65 (of the baseline's) or 3.2ms (default: the search's)",
    )
    .option("--baseline <run>", "compare with this run instead of training a baseline")
    .option("--no-baseline", "compare with nothing")
    .settings([retrainSettings], {
      prefix: "retrain-",
      dryRun: "print both networks' parameters, FLOPs, memory and an estimate of time, and stop",
      defaults: false,
    })
    .explain(examples)
    .action(run);
}

async function run(source: string, flags: RetrainFlags): Promise<void> {
  const { out, fromSupernet, baseline, dryRun, json = false } = flags;
  const { openRetrainJob, retrain } = await import("../../tasks/search/index.ts");
  const settings = retrainSettings.merge(await layersFrom(retrainSettings, flags));
  if ((flags.front ?? flags.race ?? flags.random ?? flags.budget) !== undefined)
    return trainFront(source, settings, flags);
  const options = { ...settings, fromSupernet, baseline, ...handed() };
  if (dryRun) return printDryRun(await openRetrainJob(source, options), json);
  const into = await runAt({ out, prefix: "retrain-" });
  const result = await watchSession((signal) => retrain(source, { ...options, into, signal }));
  await concludeRetrain(into.path, result, json);
}

/** Trains networks of a front, and shows how they compare. */
async function trainFront(source: string, settings: object, flags: RetrainFlags): Promise<void> {
  const { out, front: networks, race, random, budget, fromSupernet, baseline, dryRun, json = false } = flags;
  const others = { "--from-supernet": fromSupernet, "--baseline": typeof baseline === "string", "--dry-run": dryRun };
  const got = Object.entries(others).flatMap(([flag, isGiven]) => (isGiven ? [flag] : []));
  if (got.length > 0) {
    const remedy = "leave it out, or retrain one network";
    reject(
      { who: "retrain --front, --race or --random", needed: "networks from scratch", got: got.join(" and "), remedy },
      2,
    );
  }
  const { retrainedTable, retrainFront } = await import("../../tasks/search/index.ts");
  const into = out ?? (await freeFolder("front-"));
  const options = { ...settings, baseline: baseline !== false, ...handed(), networks, race, random, budget, into };
  const result = await watchSession((signal) => retrainFront(source, { ...options, signal }));
  if (result.reason === "stopped") return say(`stopped; the same command with --out ${into} goes on`);
  print(json ? JSON.stringify({ run: into, ...result }) : retrainedTable(result));
  if (!json) say(nextLines(into, [`eval RUN/${result.networks[0]!.name} --split test`, "runs RUN"]));
}
