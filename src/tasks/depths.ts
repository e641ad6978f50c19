/** How deep the tokens of texts run, whatever the model: an ALBERT's or a language model's. */
import type { TokenDepth } from "../analysis/depth-analysis.ts";
import { depthsOfLanguage } from "../analysis/language-depths.ts";
import { LanguageModel } from "../model/language/language.ts";
import type { Weights } from "../model/weights.ts";
import type { OpenTokenizer } from "../text/tokenizer.ts";
import { defaultEngine } from "./engine.ts";
import type { TrainedAlbert } from "./pretrain/albert-run.ts";
import { type DepthOptions, type DepthsOf, depthsOfAlbert } from "./pretrain/depths.ts";

/** A trained language model with its tokenizer. */
export interface ReadableLanguageModel {
  readonly model: LanguageModel;
  readonly weights: Weights;
  readonly tokenizer: OpenTokenizer;
}

/** What depths can be read of. */
export type ReadableDepths = Pick<TrainedAlbert, "model" | "weights" | "tokenizer" | "path"> | ReadableLanguageModel;

const isLanguage = (trained: ReadableDepths): trained is ReadableLanguageModel =>
  trained.model instanceof LanguageModel;

/** The tokens of a text with the number of blocks that each passed through; of several texts, a list each. An ALBERT's begin with [CLS]. */
export async function depthsOf<T extends string | readonly string[]>(
  trained: ReadableDepths,
  text: T,
  options: DepthOptions = {},
): Promise<DepthsOf<T>> {
  if (!isLanguage(trained)) return depthsOfAlbert(trained, text, options);
  const texts: readonly string[] = typeof text === "string" ? [text] : text;
  const engine = options.engine ?? (await defaultEngine());
  const found = await depthsOfLanguage(engine, trained, trained.tokenizer.tokenizer, texts, options.onText);
  return (typeof text === "string" ? found[0]! : found) as TokenDepth[] | TokenDepth[][] as DepthsOf<T>;
}
