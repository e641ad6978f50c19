/** Continuing a text with any causal model: token after token by their ids, or as text with a tokenizer. */
import { reject, rejectOption } from "../base/errors.ts";
import { check, checkOptions, whole } from "../base/options.ts";
import { RandomStream } from "../base/random.ts";
import { type Engine, inTurns } from "../engine/engine.ts";
import type { CausalModel, Decoder } from "./causal.ts";
import { checkSampling, probabilityOf, type SamplingOptions, sample } from "./sampling.ts";
import { type DraftCounts, draftingApart, type RewindableDecoder, SpeculativeDecoder } from "./speculation.ts";
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

export const drawing = ["maxTokens", "seed", "signal", "temperature", "topK", "topP"];

/** A token that was drawn, and the scores [V] that it was drawn from, valid until the next is asked for. */
interface Draw {
  readonly token: number;
  readonly logits: Float32Array;
}

/** Continues `prompt` with an open decoder, forgetting what it read before; gives id after id. */
export async function* generateWith(decoder: Decoder, options: GenerationOptions): AsyncGenerator<number, void, void> {
  checkOptions("generate", options, ["prompt", "stop", ...drawing]);
  decoder.clear();
  for await (const { token } of draws(decoder, options)) yield token;
}

async function* draws(decoder: Decoder, options: GenerationOptions): AsyncGenerator<Draw, void, void> {
  const { prompt, maxTokens, seed = 1, stop = [], signal } = options;
  check("generate / maxTokens", maxTokens, whole());
  checkSampling(options);
  if (prompt.length === 0) reject({ who: "prompt", needed: "at least one token", got: "none" }, 2);
  const random = new RandomStream(seed, "generation");
  let unread: ArrayLike<number> = prompt;
  for (let count = 0; count < maxTokens; count++) {
    signal?.throwIfAborted();
    const logits = await decoder.read(unread);
    const token = sample(logits, options, random);
    if (stop.includes(token)) return;
    yield { token, logits };
    unread = [token];
  }
}

/** Drafts by the first depths of the same model: the text of greedy generation, in fewer passes through all depths. */
export interface Drafting {
  /** Blocks that draft, fewer than the model has. */
  readonly depth: number;
  /** Tokens that are drafted at a time. Default: 4. */
  readonly tokens?: number | undefined;
  /** Told at the end what became of the drafts. */
  readonly onEnd?: ((counts: DraftCounts) => void) | undefined;
}

const DRAFT = 4;

/** Refuses drafts where the likeliest token is not taken always: what is drafted would be another text. */
function checkDrafting({ depth, tokens, ...others }: Drafting, { temperature = 1 }: SamplingOptions): void {
  checkOptions("draft", others, ["onEnd"]);
  check("draft / depth", depth, whole(1));
  if (tokens !== undefined) check("draft / tokens", tokens, whole(1));
  if (temperature === 0) return;
  reject({ who: "draft", needed: "temperature 0", got: `${temperature}`, remedy: "leave the draft out, or set it" }, 2);
}

/** A decoder of a model; with drafts it reads ahead. */
async function openDecoder<Reading>(
  { model, weights }: Pick<Trained<Reading>, "model" | "weights">,
  engine: Engine,
  reading: Reading | undefined,
  draft: Drafting | undefined,
): Promise<Decoder> {
  if (!draft) return model.open(engine, weights, reading);
  const shallow = model.shallower?.(draft.depth);
  if (!shallow) {
    const remedy = "leave the draft out";
    return reject({ who: "draft", needed: "a language model without memory", got: "another", remedy }, 2);
  }
  const turning = inTurns(engine);
  const whole = rewindable(await model.open(turning, weights, reading));
  const own = whole.drafter?.(draft.depth);
  const apart = own ? undefined : rewindable(await shallow.open(turning, weights, reading));
  const decoder = new SpeculativeDecoder(whole, own ?? draftingApart(whole, apart!), draft.tokens ?? DRAFT);
  const release = async () => {
    draft.onEnd?.(decoder.counts);
    await decoder.release();
    await apart?.release();
  };
  return { read: (ids) => decoder.read(ids), clear: () => decoder.clear(), release };
}

function rewindable(decoder: Decoder): RewindableDecoder {
  if ("rewind" in decoder) return decoder as RewindableDecoder;
  return rejectOption({
    who: "draft",
    needed: "a decoder with caches",
    got: "one that reads the whole text each time",
  });
}

/** Continues `prompt` with a model, id after id: compiles, generates, releases. `reading` is what the model's decoder may be told. */
export async function* generateIds<Reading>(
  engine: Engine,
  model: CausalModel<Reading>,
  weights: Weights,
  { reading, draft, ...options }: GenerationOptions & { reading?: Reading | undefined; draft?: Drafting | undefined },
): AsyncGenerator<number, void, void> {
  if (draft) checkDrafting(draft, options);
  const decoder = await openDecoder({ model, weights }, engine, reading, draft);
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

/** What is continued, how, and whether drafts make it faster. */
export interface DraftedOptions extends TextOptions {
  /** Drafts by the model's own first depths, with temperature 0. Default: none. */
  draft?: Drafting | undefined;
}

/** A text, and what it is continued with. */
export interface TextGenerationOptions<Reading = unknown> extends DraftedOptions {
  engine: Engine;
  tokenizer: TextCoder;
  /** What the model's decoder may be told, such as the steps of memory. */
  reading?: Reading | undefined;
}

export const MAX_TOKENS = 200;

/** Continues a text with a trained model; gives what is new in it, piece by piece. */
export async function* generate<Reading>(
  trained: Trained<Reading>,
  { engine, tokenizer, reading, draft, ...options }: TextGenerationOptions<Reading>,
): AsyncGenerator<string, void, void> {
  checkOptions("generate", options, ["prompt", "stop", ...drawing]);
  if (draft) checkDrafting(draft, options);
  const writer = await textWriter(trained, { engine, tokenizer, reading, draft });
  try {
    for await (const { text } of writer.texts(options)) if (text !== "") yield text;
  } finally {
    await writer.release();
  }
}

/** What a token adds to a text, and how the model came to it. */
export interface WrittenPiece {
  /** May be empty: a character that is not whole yet, or what may become the stop text, is held back. */
  readonly text: string;
  /** The tokenizer's id; absent of held back text that comes at the end. */
  readonly id?: number | undefined;
  /** What the model gave it, before temperature, top-k and top-p. */
  readonly probability?: number | undefined;
  /** Blocks that the position before it passed through, where tokens halt by themselves. */
  readonly depth?: number | undefined;
  /** Steps of memory that it was drawn from, of models with memory. */
  readonly remembered?: number | undefined;
}

/** A model that is open to continue texts, one after another. */
export interface Writer {
  /** Continues a text; `keep` reads it after the last one instead of forgetting that. */
  write(options: TextOptions & { keep?: boolean | undefined }): AsyncGenerator<WrittenPiece, void, void>;
  /** Gives the programs' memory back. */
  release(): Promise<void>;
}

/** What a text is continued with. */
export type Writing<Reading = unknown> = Pick<
  TextGenerationOptions<Reading>,
  "engine" | "tokenizer" | "reading" | "draft"
>;

/** Opens a trained model to continue texts. */
export const openWriter = <Reading>(trained: Trained<Reading>, how: Writing<Reading>): Promise<Writer> =>
  textWriter(trained, how);

async function textWriter<Reading>(
  { model, weights, ranks }: Trained<Reading>,
  { engine, tokenizer, reading, draft }: Writing<Reading>,
): Promise<TextWriter> {
  return new TextWriter(await openDecoder({ model, weights }, engine, reading, draft), tokenizer, ranks);
}

class TextWriter implements Writer {
  readonly #decoder: Decoder;
  readonly #tokenizer: TextCoder;
  readonly #ranks: ArrayLike<number> | undefined;
  readonly #ids: ReadonlyMap<number, number> | undefined;
  /** The last token of the text before, which nobody has read yet. */
  #unread: number[] = [];

  constructor(decoder: Decoder, tokenizer: TextCoder, ranks: ArrayLike<number> | undefined) {
    [this.#decoder, this.#tokenizer, this.#ranks] = [decoder, tokenizer, ranks];
    this.#ids = ranks && new Map(Array.from(ranks, (place, id) => [place, id]));
  }

  async *write({ keep = false, ...options }: TextOptions & { keep?: boolean | undefined }) {
    for await (const { text, draw } of this.texts(options, keep)) {
      if (!draw) yield { text };
      else {
        const { depth, remembered } = this.#decoder;
        const probability = probabilityOf(draw.logits, draw.token);
        yield { text, id: this.#idOf(draw.token), probability, depth, remembered };
      }
    }
  }

  /** The text that each token adds, held back as long as it may be the beginning of the stop text. */
  async *texts(options: TextOptions, keep = false): AsyncGenerator<{ text: string; draw?: Draw }, void, void> {
    const { prompt, maxTokens = MAX_TOKENS, stop = "", ...how } = options;
    const ids = [...this.#tokenizer.encode(prompt)];
    if (ids.length === 0)
      reject({ who: "prompt", needed: "at least one piece of text", got: JSON.stringify(prompt) }, 2);
    const before = keep ? this.#unread : [];
    if (!keep) this.#decoder.clear();
    const start = [...before, ...ids.map((id) => this.#ranks?.[id] ?? id)];
    const growing = new GrowingText(this.#tokenizer, ids, stop);
    for await (const draw of draws(this.#decoder, { ...how, prompt: start, maxTokens })) {
      this.#unread = [draw.token];
      yield { text: growing.add(this.#idOf(draw.token)), draw };
      if (growing.isStopped) return;
    }
    yield { text: growing.rest() };
  }

  #idOf(token: number): number {
    return this.#ids?.get(token) ?? token;
  }

  release(): Promise<void> {
    return this.#decoder.release();
  }
}

/** A text that grows by ids, given out as far as it is certain. */
export class GrowingText {
  readonly #tokenizer: TextCoder;
  readonly #ids: number[];
  readonly #stop: string;
  #text: string;
  #given: number;
  /** Whether the stop text has come. */
  isStopped = false;

  constructor(tokenizer: TextCoder, ids: readonly number[], stop = "") {
    [this.#tokenizer, this.#ids, this.#stop] = [tokenizer, [...ids], stop];
    this.#text = tokenizer.decode(this.#ids);
    this.#given = this.#text.length;
  }

  /** What an id adds, held back as long as it may be the beginning of the stop text. */
  add(id: number): string {
    this.#ids.push(id);
    const longer = this.#tokenizer.decode(this.#ids);
    // A character may still be incomplete where pieces are bytes.
    if (!longer.endsWith("\ufffd")) this.#text = longer;
    const end = this.#stop === "" ? -1 : this.#text.indexOf(this.#stop, this.#given - this.#stop.length + 1);
    this.isStopped = end >= 0;
    return this.#until(end >= 0 ? end : this.#text.length - overlap(this.#text, this.#stop));
  }

  /** What was held back. */
  rest(): string {
    return this.#until(this.#text.length);
  }

  #until(end: number): string {
    const part = this.#text.slice(this.#given, end);
    this.#given = Math.max(this.#given, end);
    return part;
  }
}

/** Length of the longest end of `text` with which `stop` begins. */
function overlap(text: string, stop: string): number {
  let length = Math.max(0, stop.length - 1);
  while (length > 0 && !text.endsWith(stop.slice(0, length))) length--;
  return length;
}
