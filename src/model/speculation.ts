/** Self-speculative reading: a shallower use of the same weights drafts tokens, and the whole model reads them in one pass. */

import type { Decoder } from "./causal.ts";
import { likeliest } from "./sampling.ts";

/**
 * Tokens that were drafted, and the whole model's scores after the last of those given and after what it has read of the drafts: each tells
 * whether the draft of its place is right.
 */
export interface Drafted {
  readonly drafts: readonly number[];
  readonly scores: readonly Float32Array[];
}

/** Drafts so many tokens after a text and those given, and has the whole model read what is given and drafts, in one pass. */
export type Drafter = (tokens: readonly number[], count: number) => Promise<Drafted>;

/** A decoder that reads several tokens in one pass, and takes tokens back. */
export interface RewindableDecoder extends Decoder {
  /** The text that it remembers. */
  readonly text: readonly number[];
  /** Tokens that it can remember. */
  readonly capacity: number;
  /** Tokens from which on the beginning of a text is read at once; a shorter one, and all that follows, is read token by token. */
  readonly atOnce: number;
  /** Appends tokens in one pass, as far as they fit; gives the scores after each of them, [V] each. */
  readEach(ids: ArrayLike<number>): Promise<readonly Float32Array[]>;
  /** Forgets all but the first tokens of the text. */
  rewind(length: number): void;
  /** Drafts by its own first depths, with keys and states that the others go on from; undefined where they cannot. */
  drafter?(depth: number): Drafter | undefined;
}

/** Drafts by a decoder of its own. */
export function draftingApart(whole: RewindableDecoder, draft: RewindableDecoder): Drafter {
  return async (tokens, count) => {
    const text = [...whole.text, ...tokens];
    const known = draft.text;
    let same = 0;
    while (same < known.length && same < text.length - 1 && known[same] === text[same]) same++;
    draft.rewind(same);
    const drafts: number[] = [];
    for (let unread = text.slice(same); drafts.length < count; unread = drafts.slice(-1))
      drafts.push(likeliest(await draft.read(unread)));
    const scores = await whole.readEach([...tokens, ...drafts]);
    return { drafts, scores: scores.slice(tokens.length - 1) };
  };
}

/** What became of drafts. */
export interface DraftCounts {
  /** Tokens that were drafted. */
  readonly drafted: number;
  /** Of those, tokens that the whole model would have chosen too. */
  readonly accepted: number;
  /** Tokens that were read again one by one, because two tokens were almost equally likely. */
  readonly repeated: number;
}

/**
 * Scores of a pass over several tokens differ in the last bits from those of tokens read one by one: by less than 1e-6 of the largest score.
 * Where the two best are nearer to each other than this fraction of it, all tokens since the last exact one are read again one by one.
 */
const NEAR = 2e-5;

/** Whether rounding might choose another token. */
function isNear(scores: Float32Array): boolean {
  const best = likeliest(scores);
  let [second, size] = [Number.NEGATIVE_INFINITY, 1];
  for (let i = 0; i < scores.length; i++) {
    if (i !== best) second = Math.max(second, scores[i]!);
    size = Math.max(size, Math.abs(scores[i]!));
  }
  return !(scores[best]! - second > NEAR * size);
}

/**
 * Reads like `whole` does, and where what is read is what `whole` finds likeliest, in fewer passes: `draft` says which tokens may follow, and
 * one pass over all of them tells how many are right. Whoever always reads the likeliest token gets the same tokens as from `whole`.
 */
export class SpeculativeDecoder implements Decoder {
  readonly #whole: RewindableDecoder;
  readonly #draft: Drafter;
  readonly #tokens: number;
  readonly #counts = { drafted: 0, accepted: 0, repeated: 0 };
  /** Tokens of the text that the caller has read; the whole model may be ahead by those that were drafted. */
  #read = 0;
  /** Tokens whose keys and values are, to the bit, those of tokens read one by one. */
  #exact = 0;
  /** Scores after tokens that the whole model is ahead. */
  #ahead: Float32Array[] = [];

  /** `tokens`: how many are drafted at a time. */
  constructor(whole: RewindableDecoder, draft: Drafter, tokens: number) {
    [this.#whole, this.#draft, this.#tokens] = [whole, draft, tokens];
  }

  get counts(): DraftCounts {
    return { ...this.#counts };
  }

  clear(): void {
    this.#whole.clear();
    [this.#read, this.#exact, this.#ahead] = [0, 0, []];
  }

  async read(ids: ArrayLike<number>): Promise<Float32Array> {
    const { text, capacity, atOnce } = this.#whole;
    if (this.#ahead.length > 0 && (ids.length > 1 || text[this.#read] !== ids[0])) this.#stepBack();
    if (this.#ahead.length === 0) {
      const room = capacity - this.#read - ids.length;
      if (room < 1 || ids.length >= atOnce) return this.#readPlainly(ids);
      await this.#readDrafts(ids, Math.min(this.#tokens, room));
    }
    this.#read++;
    const scores = this.#ahead.shift()!;
    return isNear(scores) ? this.#readAgain() : scores;
  }

  /** What the whole model read ahead is not what comes. */
  #stepBack(): void {
    this.#whole.rewind(this.#read);
    this.#ahead = [];
  }

  /** Many tokens at once, or the end of what the model reaches, where it goes on from the last tokens: as `whole` does it by itself. */
  async #readPlainly(ids: ArrayLike<number>): Promise<Float32Array> {
    if (this.#whole.text.length + ids.length <= this.#whole.capacity) await this.#makeExact();
    const scores = await this.#whole.read(ids);
    this.#read = this.#exact = this.#whole.text.length;
    return scores;
  }

  /** Reads tokens and what the draft finds likeliest after them; keeps as much as the whole model agrees with. */
  async #readDrafts(ids: ArrayLike<number>, count: number): Promise<void> {
    const { drafts, scores } = await this.#draft(Array.from(ids), count);
    const wrong = drafts.findIndex((each, i) => likeliest(scores[i]!) !== each);
    const right = wrong < 0 ? drafts.length : wrong;
    this.#ahead = scores.slice(0, 1 + right);
    this.#read += ids.length - 1; // the last is read with the first of the scores
    this.#whole.rewind(this.#read + this.#ahead.length);
    this.#counts.drafted += drafts.length;
    this.#counts.accepted += right;
  }

  /** The scores after what was read, from tokens read one by one. */
  async #readAgain(): Promise<Float32Array> {
    this.#stepBack();
    const scores = await this.#makeExact();
    return scores!;
  }

  /** Reads one by one what was read in drafts; gives the scores after the last of it. */
  async #makeExact(): Promise<Float32Array | undefined> {
    const again = this.#whole.text.slice(this.#exact, this.#read);
    this.#whole.rewind(this.#exact);
    let scores: Float32Array | undefined;
    for (const token of again) scores = await this.#whole.read([token]);
    this.#counts.repeated += again.length;
    this.#exact = this.#read;
    return scores;
  }

  async release(): Promise<void> {
    await this.#whole.release();
  }
}

/** What became of drafts, in words. */
export function draftsText({ drafted, accepted, repeated }: DraftCounts): string {
  const share = drafted === 0 ? "" : ` (${Math.round((100 * accepted) / drafted)} %)`;
  return `${accepted} of ${drafted} drafted tokens accepted${share}${repeated > 0 ? `, ${repeated} read again` : ""}`;
}
