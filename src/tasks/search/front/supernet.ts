/** The supernet of a search that has ended: opened again to draw networks from it, and to rank those that its front does not have. */

import { reject } from "../../../base/errors.ts";
import { patternBlocks, printPattern } from "../../../depth/pattern.ts";
import type { Engine } from "../../../engine/engine.ts";
import type { Given } from "../../text-data.ts";
import { settingsIn } from "../origin.ts";
import { openSearch, type SearchParts } from "../parts.ts";
import { keptCosts } from "../result.ts";
import { lastModel } from "../stored.ts";
import { type Choices, patternOfPath } from "./paths.ts";
import { openRanking } from "./stage.ts";

/** On what a supernet is opened again. */
export type Reopening = Given & { readonly engine: Engine; readonly data?: string | null | undefined };

/** Opens a search as it was, with all that its blocks could be and the costs it measured. */
export async function openSupernet(run: string, { data, tokenizer: _, ...given }: Reopening): Promise<SearchParts> {
  const [settings, costs] = [await settingsIn(run), await keptCosts(run)];
  if (!costs || typeof settings.blocks !== "number") {
    const got = costs ? `${run}, where every block is decided` : `${run} without costs.json`;
    reject({ who: "random", needed: "the run of a search with blocks to choose", got, remedy: "search again" }, 2);
  }
  return openSearch({ ...settings, data: data ?? settings.data }, { ...given, costs });
}

/** Perplexities of networks in the supernet, on the text by which its front was measured; a network that is no path through it has none. */
export async function supernetPerplexities(
  parts: SearchParts,
  run: string,
  patterns: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const paths = patterns.flatMap((pattern) => {
    const path = pathOf(parts.model.choices, pattern);
    return path ? [{ pattern, path }] : [];
  });
  const { model, weights } = await lastModel(run);
  const ranking = await openRanking({ ...parts, model }, weights);
  try {
    const losses = await ranking.losses(paths.map(({ path }) => path));
    return new Map(paths.map(({ pattern }, i) => [pattern, Math.exp(losses[i]!)]));
  } finally {
    await ranking.release();
  }
}

/** The path that a network is; undefined where it has a block that is no candidate. */
export function pathOf(choices: Choices, pattern: string): number[] | undefined {
  const blocks = patternBlocks(pattern).map((block) => printPattern([block]));
  const path = choices.map((block, i) => block.findIndex((choice) => patternOfPath([[choice]], [0]) === blocks[i]));
  return blocks.length === choices.length && !path.includes(-1) ? path : undefined;
}
