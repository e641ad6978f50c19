/** Searches whose length is given in minutes: what changes on the way must know the last update before the first is made. */
import { told } from "../../train/world.ts";
import { measureStep } from "../dry-run.ts";
import { openPathStage } from "./front/stage.ts";
import { openSearch, type SearchGiven, type SearchParts, scheduled } from "./parts.ts";
import { type SearchConfig, searchDefaults, usualIn } from "./settings.ts";
import { openSearchStage } from "./stage.ts";

/** Any length will do to measure an update. */
const PROVISIONAL = { minutes: null, steps: 1000 };

/** Opens what the settings name; minutes become as many updates as a few measured ones say. */
export async function openTimedSearch(settings: Partial<SearchConfig>, given: SearchGiven): Promise<SearchParts> {
  const minutes = settings.minutes ?? null;
  if (minutes === null) return openSearch(settings, given);
  const parts = await openSearch({ ...settings, ...PROVISIONAL }, given);
  const stage = await (parts.settings.front ? openPathStage(parts) : openSearchStage(parts, parts.model));
  try {
    const stepMs = await measureStep(stage);
    const steps = Math.max(1, Math.round((minutes * 60_000) / (await told(parts.engine.world, () => stepMs))));
    const asked = { ...searchDefaults, ...usualIn(settings), ...settings, minutes: null, steps };
    return { ...parts, ...scheduled(asked, parts.tokenizer.tokenizer.size, parts.batches.train.count) };
  } finally {
    await stage.release();
  }
}
