/** `layerwise retrain`: trains what a search found as an ordinary network, beside the (sf)-baseline. */
import type { Command } from "commander";
import { patternHelp } from "../../depth/pattern.ts";
import { networkSettings } from "../../tasks/search/network-settings.ts";
import { searchSettings } from "../../tasks/search/settings.ts";
import { addSettings, type Flags, settingsIn } from "../flags.ts";
import { freeFolder } from "../free-folder.ts";

const examples = `
The settings are those of the search unless flags change them. The baseline has as many blocks, attention and feed-forward by turns, and is
trained in a folder beside the run under the same settings. Ctrl-C or a kill: layerwise resume RUN goes on, with the baseline too.

${patternHelp}

Examples:
  layerwise retrain runs/search-1                              from scratch, as long as the search
  layerwise retrain runs/search-1 --from-supernet --steps 500  from the weights of the chosen candidates
  layerwise retrain runs/search-1/architecture.json --baseline runs/retrain-1-baseline
  layerwise retrain par-wikitext103-base/12 --corpus wikitext-2 --tokenizer wiki2_12k --steps 2000

JSON: {run, networks: [{name, run, pattern, parameters, executedDepth, flopsPerToken, latencyMs, perplexity, meanBatchPerplexity}],
ratios: {parameters, flopsPerToken, latencyMs, perplexity}, latency: {batch, length, memory, threads}}`;

interface RetrainFlags extends Flags {
  out?: string;
  fromSupernet?: boolean;
  baseline: string | boolean;
  dryRun?: boolean;
  json?: boolean;
}

export function addRetrain(program: Command): void {
  const command = program
    .command("retrain")
    .argument("<search>", "run folder of a search, an architecture.json, or a pattern")
    .option("--out <dir>", "run folder (default: runs/retrain- and the next free number)")
    .option("--from-supernet", "start from the search's weights of the chosen candidates, embedding and softmax")
    .option("--baseline <run>", "compare with this run instead of training a baseline")
    .option("--no-baseline", "compare with nothing")
    .option("--dry-run", "print both networks' parameters, FLOPs, memory and an estimate of time, and stop")
    .option("--json", "print only the result, as JSON");
  addSettings(command, [searchSettings], { only: networkSettings, defaults: false });
  command.addHelpText("after", examples).action(run);
}

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function run(source: string, flags: RetrainFlags): Promise<void> {
  const { out, fromSupernet, baseline, dryRun, json = false } = flags;
  const { openRetrainJob, retrain } = await import("../../tasks/search/index.ts");
  const { budget: _, ...settings } = settingsIn(searchSettings, flags); // a found network has none
  const options = { ...settings, fromSupernet, baseline, say };
  if (dryRun) return (await import("../dry-run.ts")).printDryRun(await openRetrainJob(source, options), json);
  const { newRun } = await import("../../tasks/new-run.ts");
  const { watchSession } = await import("../session.ts");
  const { concludeRetrain } = await import("../searches.ts");
  const into = await newRun(out ?? freeFolder("retrain-"));
  const result = await watchSession((signal) => retrain(source, { ...options, into, signal }));
  await concludeRetrain(into.path, result, json);
}
