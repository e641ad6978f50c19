/** Costs of candidates measured by themselves: once, on this machine, for any search of the same sizes. */
import { type MeasuredCosts, measureCandidates } from "../../analysis/latency.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { sealedJson } from "../../runs/sealed.ts";
import { defaultEngine } from "../engine.ts";
import { openData } from "../text-data.ts";
import { checkConfig } from "./checks.ts";
import { type SearchOptions, splitSearch } from "./options.ts";
import { optionsOf } from "./parts.ts";
import { searchDefaults } from "./settings.ts";

/** Measures what the candidates of a search cost at the shape of its `latency`; nothing is trained. */
export async function measureCosts(options: SearchOptions = {}): Promise<MeasuredCosts> {
  const { settings: given, given: known } = splitSearch(options);
  const settings = { ...searchDefaults, ...given };
  checkConfig(settings);
  const { tokenizer } = await openData(settings, known);
  const engine = known.engine ?? (await defaultEngine(settings));
  return measureCandidates(engine, optionsOf(settings, tokenizer.tokenizer.size), settings.latency);
}

/** Writes costs to a file, with their checksum. */
export const writeCosts = (file: string, costs: MeasuredCosts): Promise<void> =>
  writeAtomically(file, sealedJson(costs));
