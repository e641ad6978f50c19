/** `layerwise latency`: what the candidates of a search cost on this machine, as a table and as a file for other searches. */
import { taskSettings } from "../../tasks/settings/index.ts";
import type { Command } from "../command.ts";
import { type SettingsFlags, settingsFrom } from "../flags.ts";
import { handed, nextLines, print, say } from "../output.ts";

const searchSettings = await taskSettings.search();

const examples = `
Stacks of every candidate and whole networks of several are timed in turns, forward, at the shape of --latency (batch x segment +
memory); costs are fitted to all of them, so that they add up to what whole networks take. The file holds for searches of the same
sizes, here or on another machine. Settings are those of search; what is about training is not used.

Examples:
  layerwise latency --preset front --data ~/data --threads 1 --out costs.json
  layerwise search --preset front --data ~/data --costs costs.json
  layerwise latency --blocks 12 --latency 1x1+640      generation, token by token
  layerwise latency --blocks 12 --latency 32x32+16     evaluation in batches

JSON: {shape, threads, rest: {flops, ms, wholeMs}, candidates: [{name, flops, ms, firstMs, furtherMs}], sizes, networks: [{pattern, ms, predictedMs}]}`;

export function addLatency(program: Command): void {
  program
    .command("latency")
    .settings([searchSettings], { out: "file to write the costs to, such as costs.json" })
    .explain(examples)
    .action(run);
}

async function run(flags: SettingsFlags): Promise<void> {
  const settings = await settingsFrom(searchSettings, flags);
  const { latencyTable, measureCosts, writeCosts } = await import("../../tasks/search/index.ts");
  const costs = await measureCosts({ ...settings, ...handed() });
  if (flags.out !== undefined) await writeCosts(flags.out, costs);
  print(flags.json ? JSON.stringify(costs) : latencyTable(costs));
  if (flags.out !== undefined && !flags.json) say(nextLines(flags.out, ["search --front --costs RUN"]));
}
