/** Continuing many texts at once with any causal model: prompts of any lengths, several samples of each, each as it would be alone. */
import { reject } from "../base/errors.ts";
import { check, checkOptions, whole } from "../base/options.ts";
import { RandomStream } from "../base/random.ts";
import type { Engine } from "../engine/engine.ts";
import type { BatchDecoder, CausalModel, Decoder } from "./causal.ts";
import { type DrawingOptions, drawing, GrowingText, MAX_TOKENS, type TextCoder, type Trained } from "./generation.ts";
import { checkSampling, sample } from "./sampling.ts";
import type { Weights } from "./weights.ts";

/** Texts as ids, and how they are continued. */
export interface ManyIdsOptions extends DrawingOptions {
  /** Ids of each text; at least one text, and one id in each. */
  prompts: readonly ArrayLike<number>[];
  /** Of each text; as if it alone were generated with it. Default: `seed` for all. */
  seeds?: readonly number[] | undefined;
  /** Tokens to generate at most for each. */
  maxTokens: number;
  /** Tokens that end a text; they are not given out. */
  stop?: readonly number[] | undefined;
}

/** A token of one of the texts. */
export interface TokenOf {
  /** Place of the text among the prompts. */
  readonly text: number;
  readonly token: number;
  /** Whether nothing follows in this text, unless a stop token ended it: that is not given out. */
  readonly isLast: boolean;
}

/** A text on its way. */
interface Course {
  readonly text: number;
  readonly prompt: readonly number[];
  readonly random: RandomStream;
  drawn: number;
}

/**
 * Continues texts in step: all have as many tokens at any time, so those with longer prompts still read theirs while others are continued.
 * `ends` is told each token and says whether its text ends with it; texts that end leave the batch.
 */
export async function* generateTogether(
  decoder: BatchDecoder,
  options: ManyIdsOptions,
  ends: (text: number, token: number) => boolean = () => false,
): AsyncGenerator<TokenOf, void, void> {
  checkOptions("generate", options, ["prompts", "seeds", "stop", ...drawing]);
  const { maxTokens, stop = [], signal } = options;
  check("generate / maxTokens", maxTokens, whole());
  checkSampling(options);
  let running = begin(decoder, options);
  if (maxTokens === 0) return;
  const draw = drawer(decoder, options);
  let position = 0;
  let unread = running.map(({ prompt }) => prompt.slice(0, shortest(running, 0)));
  while (running.length > 0) {
    signal?.throwIfAborted();
    const choose = await draw(unread);
    position += unread[0]!.length;
    const places: number[] = [];
    const next: number[] = [];
    for (const [i, course] of running.entries()) {
      const token = course.prompt[position] ?? choose(i, course.random);
      if (position >= course.prompt.length) {
        if (stop.includes(token)) continue;
        course.drawn++;
        const isLast = ends(course.text, token) || course.drawn === maxTokens;
        yield { text: course.text, token, isLast };
        if (isLast) continue;
      }
      places.push(i);
      next.push(token);
    }
    if (places.length < running.length && places.length > 0) decoder.keep(places);
    running = places.map((place) => running[place]!);
    // Where all are still in their prompts, as much is read at once as all have.
    const more = running.length > 0 ? Math.max(1, shortest(running, position)) : 0;
    unread = running.map(({ prompt }, i) => (more > 1 ? prompt.slice(position, position + more) : [next[i]!]));
  }
}

/** Chooses the next token of the text at a place. */
type Choose = (place: number, random: RandomStream) => number;

/** Reads tokens and says how the next ones are chosen; where always the likeliest is taken, the decoder may choose it. */
function drawer(decoder: BatchDecoder, options: ManyIdsOptions) {
  return async (ids: readonly (readonly number[])[]): Promise<Choose> => {
    if (options.temperature === 0 && decoder.readLikeliest) {
      const tokens = await decoder.readLikeliest(ids);
      return (i) => tokens[i]!;
    }
    const scores = await decoder.read(ids);
    return (i, random) => sample(scores[i]!, options, random);
  };
}

/** Tokens from a place on that every prompt has. */
const shortest = (running: readonly Course[], position: number) =>
  Math.min(...running.map(({ prompt }) => prompt.length - position));

function begin(decoder: BatchDecoder, { prompts, seeds, seed = 1 }: ManyIdsOptions): Course[] {
  if (prompts.length === 0) reject({ who: "prompts", needed: "at least one", got: "none" }, 2);
  if (seeds && seeds.length !== prompts.length) {
    reject({ who: "seeds", needed: `one for each of ${prompts.length} prompts`, got: `${seeds.length}` }, 2);
  }
  decoder.begin(prompts.length);
  return prompts.map((ids, text) => {
    if (ids.length === 0) reject({ who: `prompt ${text + 1}`, needed: "at least one token", got: "none" }, 2);
    const random = new RandomStream(seeds?.[text] ?? seed, "generation");
    return { text, prompt: decoder.fitted(Array.from(ids)), random, drawn: 0 };
  });
}

/** A decoder per text, for models that read one text only. */
class Decoders implements BatchDecoder {
  readonly #open: () => Promise<Decoder>;
  readonly #opened: Decoder[] = [];
  #running: number[] = [];

  constructor(open: () => Promise<Decoder>) {
    this.#open = open;
  }

  begin(count: number): void {
    for (const decoder of this.#opened) decoder.clear();
    this.#running = Array.from({ length: count }, (_, i) => i);
  }

  fitted(ids: readonly number[]): readonly number[] {
    return ids;
  }

  async read(ids: readonly (readonly number[])[]): Promise<readonly Float32Array[]> {
    const scores: Float32Array[] = [];
    for (const [i, place] of this.#running.entries()) {
      this.#opened[place] ??= await this.#open();
      scores.push(Float32Array.from(await this.#opened[place].read(ids[i]!)));
    }
    return scores;
  }

  keep(places: readonly number[]): void {
    this.#running = places.map((place) => this.#running[place]!);
  }

  async release(): Promise<void> {
    for (const decoder of this.#opened) await decoder.release();
  }
}

/** Opens a model to continue several texts at once. */
export async function openBatch<Reading>(
  { model, weights }: { readonly model: CausalModel<Reading>; readonly weights: Weights },
  engine: Engine,
  reading?: Reading,
): Promise<BatchDecoder> {
  return (
    (await model.openBatch?.(engine, weights, reading)) ?? new Decoders(() => model.open(engine, weights, reading))
  );
}

/** Texts to continue, and how. */
export interface ManyTextsOptions extends DrawingOptions {
  /** Each at least one piece. */
  prompts: readonly string[];
  /** Continuations of each prompt; the k-th is the one that `seed + k` gives alone. Default: 1. */
  samples?: number | undefined;
  /** Tokens to generate at most for each. Default: 200. */
  maxTokens?: number | undefined;
  /** Text that ends a continuation; it is not given out. */
  stop?: string | undefined;
}

/** What is new in one of the texts. */
export interface PieceOf {
  /** Places of the prompt and of the sample of it, from 0. */
  readonly prompt: number;
  readonly sample: number;
  /** May be empty: a character that is not whole yet, or what may become the stop text, is held back. */
  readonly text: string;
  /** Set at the last piece. */
  readonly isLast: boolean;
}

/** What texts are continued with. */
export interface ManyTextsWith<Reading = unknown> {
  engine: Engine;
  tokenizer: TextCoder;
  /** What the model's decoder may be told, such as the steps of memory. */
  reading?: Reading | undefined;
}

/** Continues many texts with a trained model at once; gives what is new in each, piece by piece, as it comes. */
export async function* generateMany<Reading>(
  trained: Trained<Reading>,
  { engine, tokenizer, reading, ...options }: ManyTextsOptions & ManyTextsWith<Reading>,
): AsyncGenerator<PieceOf, void, void> {
  checkOptions("generate", options, ["prompts", "samples", "stop", ...drawing]);
  const { prompts, samples = 1, maxTokens = MAX_TOKENS, stop, seed = 1, ...how } = options;
  check("samples", samples, whole(1));
  const { ranks } = trained;
  const back = ranks && new Map(Array.from(ranks, (place, id) => [place, id]));
  const asked = prompts.flatMap((prompt, i) => {
    const ids = [...tokenizer.encode(prompt)];
    if (ids.length === 0)
      reject({ who: `prompt ${i + 1}`, needed: "at least one piece of text", got: JSON.stringify(prompt) }, 2);
    return Array.from({ length: samples }, (_, sample) => ({ prompt: i, sample, ids }));
  });
  const texts = asked.map(({ ids }) => new GrowingText(tokenizer, ids, stop));
  const decoder = await openBatch(trained, engine, reading);
  const pieces = new Map<number, string>();
  const ends = (i: number, token: number) => {
    pieces.set(i, texts[i]!.add(back?.get(token) ?? token));
    return texts[i]!.isStopped;
  };
  const ids = asked.map((each) => each.ids.map((id) => ranks?.[id] ?? id));
  const seeds = asked.map((each) => seed + each.sample);
  try {
    for await (const { text: i, isLast } of generateTogether(
      decoder,
      { ...how, prompts: ids, seeds, maxTokens },
      ends,
    )) {
      const { prompt, sample } = asked[i]!;
      const held = isLast && !texts[i]!.isStopped ? texts[i]!.rest() : "";
      yield { prompt, sample, text: `${pieces.get(i)}${held}`, isLast };
    }
  } finally {
    await decoder.release();
  }
}
