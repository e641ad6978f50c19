/** Continuing a text with any causal model: token after token by their ids, or as text with a tokenizer. */
import { reject } from "../base/errors.ts";
import { check, checkOptions, whole } from "../base/options.ts";
import { RandomStream } from "../base/random.ts";
import type { Engine } from "../engine/engine.ts";
import type { CausalModel, Decoder } from "./causal.ts";
import { checkSampling, type SamplingOptions, sample } from "./sampling.ts";
import type { Weights } from "./weights.ts";

/** How tokens are drawn, and when it ends. */
export interface DrawingOptions extends SamplingOptions {
  seed?: number | undefined;
  /** Ends generation by throwing its reason. */
  signal?: AbortSignal | undefined;
}

/** A text as ids, and how it is continued. */
export interface GenerationOptions extends DrawingOptions {
  /** Ids of the text to continue; at least one. */
  prompt: ArrayLike<number>;
  /** Tokens to generate at most. */
  maxTokens: number;
  /** Tokens that end the text; they are not given out. */
  stop?: readonly number[] | undefined;
}

const drawing = ["maxTokens", "seed", "signal", "temperature", "topK", "topP"];

/** Continues `prompt` with an open decoder, forgetting what it read before; gives id after id. */
export async function* generateWith(decoder: Decoder, options: GenerationOptions): AsyncGenerator<number, void, void> {
  checkOptions("generate", options, ["prompt", "stop", ...drawing]);
  const { prompt, maxTokens, seed = 1, stop = [], signal } = options;
  check("generate / maxTokens", maxTokens, whole());
  checkSampling(options);
  if (prompt.length === 0) reject({ who: "prompt", needed: "at least one token", got: "none" }, 2);
  const random = new RandomStream(seed, "generation");
  decoder.clear();
  let unread: ArrayLike<number> = prompt;
  for (let count = 0; count < maxTokens; count++) {
    signal?.throwIfAborted();
    const token = sample(await decoder.read(unread), options, random);
    if (stop.includes(token)) return;
    yield token;
    unread = [token];
  }
}

/** Continues `prompt` with a model, id after id: compiles, generates, releases. `reading` is what the model's decoder may be told. */
export async function* generateIds<Reading>(
  engine: Engine,
  model: CausalModel<Reading>,
  weights: Weights,
  { reading, ...options }: GenerationOptions & { reading?: Reading | undefined },
): AsyncGenerator<number, void, void> {
  const decoder = await model.open(engine, weights, reading);
  try {
    yield* generateWith(decoder, options);
  } finally {
    await decoder.release();
  }
}

/** A model with its weights. */
export interface Trained<Reading = unknown> {
  readonly model: CausalModel<Reading>;
  readonly weights: Weights;
  /** The model's id of each of the tokenizer's, where they differ: places by falling frequency, for an adaptive softmax. */
  readonly ranks?: ArrayLike<number> | undefined;
}

/** What is asked of a tokenizer. */
export interface TextCoder {
  encode(text: string): ArrayLike<number> & Iterable<number>;
  decode(ids: readonly number[]): string;
}

/** What is continued, and how. */
export interface TextOptions extends DrawingOptions {
  /** The text to continue; at least one piece. */
  prompt: string;
  /** Tokens to generate at most. Default: 200. */
  maxTokens?: number | undefined;
  /** Text that ends it; it is not given out. */
  stop?: string | undefined;
}

/** A text, and what it is continued with. */
export interface TextGenerationOptions<Reading = unknown> extends TextOptions {
  engine: Engine;
  tokenizer: TextCoder;
  /** What the model's decoder may be told, such as the steps of memory. */
  reading?: Reading | undefined;
}

const MAX_TOKENS = 200;

/** Continues a text with a trained model; gives what is new in it, piece by piece. */
export async function* generate<Reading>(
  { model, weights, ranks }: Trained<Reading>,
  given: TextGenerationOptions<Reading>,
): AsyncGenerator<string, void, void> {
  checkOptions("generate", given, ["engine", "tokenizer", "prompt", "stop", "reading", ...drawing]);
  const { engine, tokenizer, prompt, maxTokens = MAX_TOKENS, stop, ...options } = given;
  const ids = [...tokenizer.encode(prompt)];
  if (ids.length === 0) reject({ who: "prompt", needed: "at least one piece of text", got: JSON.stringify(prompt) }, 2);
  const places = ranks && new Map(Array.from(ranks, (place, id) => [place, id]));
  const start = ranks ? ids.map((id) => ranks[id]!) : ids;
  const tokens = generateIds(engine, model, weights, { ...options, prompt: start, maxTokens });
  yield* newText(tokens, ids, (token) => places?.get(token) ?? token, { tokenizer, stop });
}

/** The text that tokens add to `ids`, held back as long as it may be the beginning of the stop text. */
async function* newText(
  tokens: AsyncIterable<number>,
  ids: number[],
  idOf: (token: number) => number,
  { tokenizer, stop = "" }: { tokenizer: TextCoder; stop?: string | undefined },
): AsyncGenerator<string, void, void> {
  let text = tokenizer.decode(ids);
  let given = text.length;
  const until = (end: number) => {
    const part = text.slice(given, end);
    given = Math.max(given, end);
    return part === "" ? [] : [part];
  };
  for await (const token of tokens) {
    ids.push(idOf(token));
    const longer = tokenizer.decode(ids);
    // A character may still be incomplete where pieces are bytes.
    if (longer.endsWith("\ufffd")) continue;
    text = longer;
    const end = stop === "" ? -1 : text.indexOf(stop, given - stop.length + 1);
    yield* until(end >= 0 ? end : text.length - overlap(text, stop));
    if (end >= 0) return;
  }
  yield* until(text.length);
}

/** Length of the longest end of `text` with which `stop` begins. */
function overlap(text: string, stop: string): number {
  let length = Math.max(0, stop.length - 1);
  while (length > 0 && !text.endsWith(stop.slice(0, length))) length--;
  return length;
}
