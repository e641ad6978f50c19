/** Searches whose length is given in minutes: what changes on the way must know about how many updates there are before the first. */
import { told } from "../../train/world.ts";
import { measureStep } from "../dry-run.ts";
import { openPathStage } from "./front/stage.ts";
import { openSearch, type SearchGiven, type SearchParts, scheduled } from "./parts.ts";
import { type SearchConfig, searchDefaults, usualIn } from "./settings.ts";
import { openSearchStage } from "./stage.ts";

/** Any length will do to measure an update. */
const PROVISIONAL = { minutes: null, steps: 1000 };

/**
 * Opens what the settings name; minutes become as many updates as a few measured ones say. A search by the clock keeps its minutes, too:
 * candidates that are cut make later updates faster. Networks that are compared have as many updates each.
 */
export async function openTimedSearch(
  settings: Partial<SearchConfig>,
  given: SearchGiven,
  byClock = false,
): Promise<SearchParts> {
  const minutes = settings.minutes ?? null;
  const isKnown = minutes === null || (settings.steps ?? null) !== null;
  if (isKnown) return openSearch(byClock ? settings : { ...settings, minutes: null }, given);
  const parts = await openSearch({ ...settings, ...PROVISIONAL }, given);
  const stage = await (parts.settings.front ? openPathStage(parts) : openSearchStage(parts, parts.model));
  try {
    const stepMs = await measureStep(stage);
    const steps = Math.max(1, Math.round((minutes * 60_000) / (await told(parts.engine.world, () => stepMs))));
    const asked = { ...searchDefaults, ...usualIn(settings), ...settings, minutes: byClock ? minutes : null, steps };
    return { ...parts, ...scheduled(asked, parts.tokenizer.tokenizer.size, parts.batches.train.count) };
  } finally {
    await stage.release();
  }
}
