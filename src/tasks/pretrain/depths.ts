/** How deep the tokens of an ALBERT run: of sentences, by kind of token, by tags, in probing sentences. */
import type { Attentions } from "../../analysis/attentions.ts";
import {
  type Analysis,
  depthByKind,
  depthByProbe,
  depthByTag,
  depthOfTexts,
  type KindsAnalysis,
  type ProbeAnalysis,
  type TagAnalysis,
  type TokenDepth,
} from "../../analysis/depth-analysis.ts";
import { DepthReader } from "../../analysis/depth-reader.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Split } from "../../text/corpus.ts";
import { specialIds } from "../../text/masked/documents.ts";
import { PRETRAINING_DEFAULTS } from "../../text/masked/examples.ts";
import type { TreebankSentence } from "../../text/probing/conllu.ts";
import type { ProbeSentence } from "../../text/probing/probing.ts";
import { defaultEngine } from "../engine.ts";
import { type AlbertRun, needTokenizer, type TrainedAlbert } from "./albert-run.ts";
import { maskedTexts, type TextChoice } from "./masked-texts.ts";

/** A trained ALBERT to read depths of. */
export type ReadableAlbertRun = Pick<TrainedAlbert, "model" | "weights" | "tokenizer" | "path">;

/** How depths are read. */
export interface DepthOptions {
  /** Default: the best there is here. */
  readonly engine?: Engine | undefined;
  /** Told how many texts are read. */
  readonly onText?: ((done: number) => void) | undefined;
}

/** Of one text its tokens, of several a list of tokens each. */
export type DepthsOf<T> = T extends string ? TokenDepth[] : TokenDepth[][];

/** The tokens of a text with the number of iterations that each took, [CLS] and [SEP] among them; of several texts, a list each. */
export async function depthsOfAlbert<T extends string | readonly string[]>(
  albert: ReadableAlbertRun,
  text: T,
  options: DepthOptions = {},
): Promise<DepthsOf<T>> {
  const texts: readonly string[] = typeof text === "string" ? [text] : (text as readonly string[]);
  const found = await reading(albert, options, (reader, framing) =>
    depthOfTexts(reader, texts, framing, options.onText),
  );
  return (typeof text === "string" ? found[0] : found) as DepthsOf<T>;
}

/** Where the tokens of a text look: attention probabilities at each iteration, for each head. */
export async function attentionsOfAlbert(
  albert: ReadableAlbertRun,
  text: string,
  { engine }: DepthOptions = {},
): Promise<Attentions> {
  const { attentionsOf } = await import("../../analysis/attentions.ts");
  return attentionsOf(engine ?? (await defaultEngine()), albert, text, framingOf(albert));
}

function framingOf(albert: ReadableAlbertRun): Framing {
  const { tokenizer } = needTokenizer(albert);
  return { tokenizer, special: specialIds(tokenizer), length: albert.model.options.length };
}

type Framing = Parameters<typeof depthOfTexts>[2];

async function reading<T>(
  albert: ReadableAlbertRun,
  { engine }: DepthOptions,
  use: (reader: DepthReader, framing: Framing) => Promise<T>,
): Promise<T> {
  const framing = framingOf(albert);
  const reader = await DepthReader.create(engine ?? (await defaultEngine()), albert);
  try {
    return await use(reader, framing);
  } finally {
    await reader.release();
  }
}

/** Which masked texts are read, and how many. */
export interface KindOptions extends TextChoice, DepthOptions {
  /** Most texts to read. Default: 512. */
  readonly texts?: number | undefined;
  /** Tokens of a text. Default: as in training, at most 128. */
  readonly length?: number | undefined;
}

/** Depths by kind of token in masked texts, and the similarity of successive states. */
export interface KindAnalysis extends Pick<KindsAnalysis, "trace" | "traces" | "tokens"> {
  readonly corpus: string;
  readonly split: Split;
  readonly texts: number;
  readonly length: number;
  readonly kinds: Analysis["rows"];
}

const ROWS = 16;

/** Depths by kind of token, on the run's own text or another. */
export function depthsByKind(run: AlbertRun, options: KindOptions = {}): Promise<KindAnalysis> {
  const { texts = 512, split = "valid", onText } = options;
  const trained = Number(run.config.training?.length ?? 128);
  const length = Math.min(run.model.options.length, options.length ?? trained);
  const predictions = Math.ceil(PRETRAINING_DEFAULTS.probability * length);
  return reading(run, options, async (reader, { tokenizer, special }) => {
    const { corpus, batches: drawn } = await maskedTexts(run, options, { rows: ROWS, length, predictions });
    const count = Math.min(drawn.count, Math.max(1, Math.round(texts / ROWS)));
    const batches = Array.from({ length: count }, (_, i) => drawn.at(i));
    const { rows: kinds, ...found } = await depthByKind(reader, batches, tokenizer, special, onText);
    return { corpus: corpus.name, split, texts: count * ROWS, length, kinds, ...found };
  });
}

type Analyse<S, A> = (reader: DepthReader, sentences: readonly S[], framing: Framing, onText?: OnText) => Promise<A>;
type OnText = DepthOptions["onText"];

const depthsIn =
  <S, A>(analyse: Analyse<S, A>) =>
  (albert: ReadableAlbertRun, sentences: readonly S[], options: DepthOptions = {}): Promise<A> =>
    reading(albert, options, (reader, framing) => analyse(reader, sentences, framing, options.onText));

/** Depths by part of speech and by dependency relation, in sentences of a treebank. */
export const depthsByTag = depthsIn<TreebankSentence, TagAnalysis>(depthByTag);

/** Depths by label and, of a masked word, by the distance to its subject. */
export const depthsByProbe = depthsIn<ProbeSentence, ProbeAnalysis>(depthByProbe);
