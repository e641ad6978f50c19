/** Costs that were measured before: read from a file, and checked against the search that they are for. */
import { readFile } from "node:fs/promises";
import { candidateName, type MeasuredCosts } from "../../analysis/latency.ts";
import { messageOf, reject } from "../../base/errors.ts";
import { type ParOptions, parModel } from "../../model/par/par.ts";
import { readSealed } from "../../runs/sealed.ts";
import type { SearchConfig } from "./settings.ts";

/** Reads costs from a file that `layerwise latency --out` or a run of search wrote. */
export async function readCosts(file: string): Promise<MeasuredCosts> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    return reject({ who: file, needed: "a file of costs", got: messageOf(error), remedy: REMEDY }, 2);
  });
  const { value } = readSealed(text, file, REMEDY);
  if (isCosts(value)) return value;
  const needed = "shape, threads, rest and candidates with their ms";
  return reject(
    { who: file, needed, got: `an object of ${Object.keys(value).join(", ") || "nothing"}`, remedy: REMEDY },
    2,
  );
}

const REMEDY = "measure it with `layerwise latency --out costs.json`";

function isCosts(value: object): value is MeasuredCosts {
  const { shape, rest, candidates } = value as Partial<MeasuredCosts>;
  const amount = (of: unknown) => typeof of === "number" && Number.isFinite(of) && of >= 0;
  const sizes = [shape?.batch, shape?.length, shape?.memory, rest?.ms];
  if (!sizes.every(amount) || !Array.isArray(candidates)) return false;
  return candidates.every(({ name, ms, firstMs = 0, furtherMs = 0 }) => {
    return typeof name === "string" && [ms, firstMs, furtherMs].every(amount);
  });
}

/** Refuses costs that were measured at another shape, of other sizes, or without a candidate that is needed. */
export function checkCosts(costs: MeasuredCosts, options: ParOptions, { latency }: SearchConfig): void {
  const shown = ({ batch, length, memory }: SearchConfig["latency"]) => `${batch}x${length}+${memory}`;
  const refuse = (needed: string, got: string) =>
    reject({ who: "costs", needed, got, remedy: `${REMEDY}, with the same settings` }, 2);
  if (shown(costs.shape) !== shown(latency)) refuse(`those of ${shown(latency)}`, `those of ${shown(costs.shape)}`);
  for (const [key, value] of Object.entries(costs.sizes ?? {})) {
    const own = options[key as keyof ParOptions];
    if (`${own}` !== `${value}`) refuse(`those of ${key} ${own}`, `those of ${key} ${value}`);
  }
  const known = new Set(costs.candidates.map(({ name }) => name));
  const wanted = new Set(["attention", "feed-forward", ...parModel(options).choices.flat().map(candidateName)]);
  const missing = [...wanted].filter((name) => !known.has(name));
  if (missing.length > 0) refuse(`those of ${[...wanted].join(", ")}`, `none of ${missing.join(", ")}`);
}
