/** `layerwise retrain`: trains what a search found as an ordinary network, beside the (sf)-baseline. */
import type { Command } from "commander";
import { patternHelp } from "../../depth/pattern.ts";
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

/** The settings of search that an ordinary network has too. */
const taken = [
  ...["corpus", "tokenizer", "pieces", "data", "width", "heads", "hidden", "memory", "evaluationMemory", "dropout"],
  ...["batch", "length", "evaluationBatch", "evaluationLength", "cutoffs", "factor", "projectionSizes", "optimiser"],
  ...["rate", "hiddenRate", "schedule", "floor", "warmup", "weightDecay", "beta2", "clipNorm", "steps", "epochs"],
  ...["evaluateEvery", "checkpointEvery", "keep", "seed", "originalBatches", "latency", "threads", "device"],
];

interface RetrainFlags extends Flags {
  out?: string;
  fromSupernet?: boolean;
  baseline: string | boolean;
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
    .option("--json", "print only the result, as JSON");
  addSettings(command, [searchSettings], { only: taken, defaults: false });
  command.addHelpText("after", examples).action(run);
}

async function run(search: string, flags: RetrainFlags): Promise<void> {
  const { beginRetraining, originOf } = await import("../../tasks/search/retrain.ts");
  const { concludeRetraining } = await import("../../tasks/search/retrain-uses.ts");
  const { defaultEngine } = await import("../../tasks/engine.ts");
  const { out = freeFolder("retrain-"), fromSupernet = false, baseline, json = false } = flags;
  const { threads = null, device = "cpu", budget: _, ...changes } = settingsIn(searchSettings, flags);
  const origin = { name: search, ...(await originOf(search)) };
  const engine = await defaultEngine({ device, threads });
  const against = baseline === false ? null : typeof baseline === "string" ? baseline : undefined;
  await beginRetraining(
    { origin, changes: { ...changes, threads, device }, out, fromSupernet, baseline: against },
    engine,
  );
  await concludeRetraining(out, engine, json);
}
