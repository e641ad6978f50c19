/** `layerwise search`: which kind of block a Transformer-XL wants at each depth. */
import { reject } from "../../base/index.ts";
import type { SearchOptions } from "../../tasks/search/index.ts";
import { patternHelp, taskSettings } from "../../tasks/settings/index.ts";
import { printDryRun, resume, runAt } from "../carry-out.ts";
import type { Command } from "../command.ts";
import { concludeSearch, concludeSeeds } from "../conclude.ts";
import { freeFolder, ON, type SettingsFlags, settingsFrom, settingsIn } from "../flags.ts";
import { engineOf } from "../opened.ts";
import { handed } from "../output.ts";
import { watchSession, watchTrials } from "../session.ts";

const searchSettings = await taskSettings.search();

const examples = `
Weights and architecture are trained on context batches with memory; π is shown at every evaluation. By turns (alternate), the
search ends early once the architecture has not changed for three quarters of its stage. Candidates that π has given up are cut, so
that later steps cost less; none in favour of identity before 0.6 of the updates, since weak weights make it look good.
The figures are exp(mean loss) per piece without noise and, in brackets, the mean of exp(batch loss).
Latency is measured on this machine before the search, per candidate. With a budget the expected latency above it is penalised;
blocks settle for the likeliest network that keeps to it, and so does the search: identity is taken only where nothing else will do.
With --front the supernet is trained one network per update, then its networks are ranked by its own weights on valid text: the run
keeps the whole front of perplexity against latency (front.json, pictures/front.svg), and --budget only picks from it.

Examples:
  layerwise search --preset quick                    seconds, on the embedded books
  layerwise search --preset wikitext --data ~/data   the recipe of the README
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --minutes 10
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --blocks 12 --epochs 4 --out runs/search
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --procedure alternate --architecture-rate 0.01 --epochs 4
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --budget 0.65 --seeds 3 --out runs/cheap
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --temperature-start 5 --temperature-end 0.2 \\
    --architecture-rate 0.03 --freeze 0.15 --settle 0.3,0.7 --steps 1500      about 1.5 times a baseline's training
  layerwise search --preset front --data ~/data --out runs/front          every budget from one supernet
  layerwise search --front --blocks 8 --candidates s:2,s:8,f:256,f:1024,i --costs costs.json
  layerwise search --resume runs/search
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --pattern '(sff)x2' --steps 2000   a found network instead
  layerwise search --corpus wikitext-2 --tokenizer wiki2_12k --pattern par-wikitext103-base/12 --steps 2000

${patternHelp}`;

interface SearchFlags extends SettingsFlags {
  costs?: string;
  pattern?: string;
  seeds?: string;
  on?: string;
  resume?: string;
}

export function addSearch(program: Command): void {
  program
    .command("search")
    .option("--pattern <text>", "train these blocks, such as (sff)x2, instead of searching")
    .option(
      "--seeds <n|list>",
      "search several times: this many seeds from --seed on, or these (1,5,9); the best is chosen",
    )
    .option("--on <launcher>", `with --seeds, ${ON}`)
    .option(
      "--costs <file>",
      "latencies from layerwise latency --out, or the costs.json of a run, instead of measuring",
    )
    .option("--resume <run>", "go on with a search from its last checkpoint, exactly as if it had never stopped")
    .settings([searchSettings], {
      prefix: "search-",
      dryRun: "print model, parameters, FLOPs, memory and an estimate of time, and stop",
    })
    .explain(examples)
    .action(run);
}

async function run(flags: SearchFlags): Promise<void> {
  const { json = false, pattern } = flags;
  if (flags.resume !== undefined) return resumeSearch(flags.resume, flags);
  const given = pattern === undefined ? flags : { ...flags, blocks: pattern };
  const settings = await settingsFrom(searchSettings, given);
  const { openSearchJob, readCosts, search } = await import("../../tasks/search/index.ts");
  const costs = flags.costs === undefined ? {} : { costs: await readCosts(flags.costs) };
  const options = { ...settings, ...costs, ...handed() };
  if (flags.seeds !== undefined) return runSeeds(options, flags.seeds, flags);
  if (flags.on !== undefined) reject({ who: "--on", needed: "--seeds, for several searches", got: "one" }, 2);
  if (flags.dryRun) return printDryRun(await openSearchJob(options), json);
  const into = await runAt({ ...flags, prefix: "search-" });
  const result = await watchSession((signal) => search({ ...options, into, signal }));
  await concludeSearch(into.path, result, json);
}

/** Searches from several seeds: a sweep. */
async function runSeeds(single: SearchOptions, text: string, { json, dryRun, out, on }: SearchFlags): Promise<void> {
  const { parseSeeds } = await import("../../tasks/search/index.ts");
  const { openSeedsJob, searchSeeds } = await import("../../sweep/index.ts");
  const options = { ...single, seeds: parseSeeds(text) };
  if (dryRun) return printDryRun(await openSeedsJob(options), json);
  const into = out ?? (await freeFolder("search-"));
  await concludeSeeds(await watchTrials((signal) => searchSeeds({ ...options, into, on, signal }), on), json);
}

/** What goes on does so on as many threads as it began with, unless told otherwise. */
async function resumeSearch(path: string, flags: SearchFlags): Promise<void> {
  const { threads = null, device = "cpu" } = settingsIn(searchSettings, flags);
  const engine = await engineOf(threads === null ? {} : { device, threads });
  await resume(path, { engine, json: flags.json });
}
