/** Beam search: the bookkeeping of one sentence's hypotheses, and the translator that runs many sentences at once. */
import { rejectData } from "../../base/errors.ts";
import { check, checkOptions, number, type Rules, whole } from "../../base/options.ts";
import type { Engine, Feed, Program } from "../../engine/engine.ts";
import { concat, gather, input, reshape, simplifyNamed, type Tensor } from "../../graph/index.ts";
import type { KeyValues } from "../../nn/attention.ts";
import { boundWeights, type Weights } from "../state-dict.ts";
import type { TranslationModel } from "./translation.ts";

/** How a beam search goes. */
export interface BeamOptions {
  /** Hypotheses kept at each step. Default: 4. */
  beam?: number | undefined;
  /** A hypothesis of n pieces, its end counted, is worth log p / n^α. Default: 0.6. */
  lengthPenalty?: number | undefined;
}

const beamRules: Rules<BeamOptions> = { beam: whole(1), lengthPenalty: number() };

interface Hypothesis {
  readonly tokens: readonly number[];
  readonly score: number;
}

/** A step onwards: the hypothesis it continues, by its number, and the piece it adds. */
export interface Choice {
  readonly parent: number;
  readonly token: number;
}

interface Candidate extends Choice {
  readonly score: number;
}

/** The hypotheses of one sentence. */
export class Beam {
  readonly #size: number;
  readonly #alpha: number;
  readonly #end: number;
  readonly #longest: number;
  readonly #finished: Hypothesis[] = [];
  #alive: Hypothesis[] = [{ tokens: [], score: 0 }];

  constructor(size: number, alpha: number, end: number, longest: number) {
    check("beam / size", size, whole(1));
    check("beam / longest", longest, whole(1));
    this.#size = size;
    this.#alpha = alpha;
    this.#end = end;
    this.#longest = longest;
  }

  get done(): boolean {
    return this.#finished.length >= this.#size || this.#alive.length === 0;
  }

  /** Takes log p of the next piece, one row [V] a hypothesis, and says how to go on: one choice a hypothesis. */
  advance(rows: Float32Array, vocabulary: number): Choice[] {
    const best = topCandidates(rows, vocabulary, this.#alive, 2 * this.#size);
    const next: Candidate[] = [];
    best.forEach((candidate, rank) => {
      if (candidate.token !== this.#end) next.push(candidate);
      else if (rank < this.#size) this.#finish(this.#alive[candidate.parent]!.tokens, candidate.score);
    });
    const chosen = next.slice(0, this.#size);
    this.#alive = chosen.map(({ parent, token, score }) => {
      return { tokens: [...this.#alive[parent]!.tokens, token], score };
    });
    if (this.#alive[0]?.tokens.length === this.#longest) this.#stop();
    return chosen;
  }

  #finish(tokens: readonly number[], score: number): void {
    this.#finished.push({ tokens, score: score / (tokens.length + 1) ** this.#alpha });
  }

  /** No room for more: what is alive is taken as it is. */
  #stop(): void {
    if (this.#finished.length === 0) for (const { tokens, score } of this.#alive) this.#finish(tokens, score);
    this.#alive = [];
  }

  /** The best finished hypothesis, or the best alive. */
  get best(): readonly number[] {
    const all = this.#finished.length > 0 ? this.#finished : this.#alive;
    return all.reduce((a, b) => (b.score > a.score ? b : a)).tokens;
  }
}

/** The `count` best continuations of all hypotheses, best first; of equals the first. */
function topCandidates(
  rows: Float32Array,
  vocabulary: number,
  alive: readonly Hypothesis[],
  count: number,
): Candidate[] {
  const best: Candidate[] = [];
  let least = Number.NEGATIVE_INFINITY;
  alive.forEach(({ score: before }, parent) => {
    const start = parent * vocabulary;
    for (let token = 0; token < vocabulary; token++) {
      const score = before + rows[start + token]!;
      if (score <= least) continue;
      const place = best.findIndex((each) => score > each.score);
      best.splice(place < 0 ? best.length : place, 0, { parent, token, score });
      if (best.length > count) best.pop();
      if (best.length === count) least = best.at(-1)!.score;
    }
  });
  return best;
}

/** Ids of the pieces that begin, end and fill a sentence. */
export interface Specials {
  readonly bosId: number;
  readonly eosId: number;
  readonly padId: number;
}

/** Sentences that are translated together. */
const SENTENCES = 32;

/** Arrays that go from step to step, by name. */
type State = Record<string, Feed>;

/** A translation model compiled for use. */
export class Translator {
  readonly #model: TranslationModel;
  readonly #specials: Specials;
  readonly #beam: number;
  readonly #alpha: number;
  readonly #encoder: Program;
  readonly #step: Program;
  readonly #widths: readonly number[];

  static async create(
    engine: Engine,
    model: TranslationModel,
    weights: Weights,
    specials: Specials,
    options: BeamOptions = {},
  ): Promise<Translator> {
    checkOptions("beam search", options, beamRules);
    const { beam = 4, lengthPenalty = 0.6 } = options;
    for (const name of ["bosId", "eosId", "padId"] as const) {
      check(`specials / ${name}`, specials[name], whole(0, model.options.vocabulary - 1));
    }
    const bound = boundWeights(model, weights);
    const encoder = await engine.compile({ outputs: encoderOutputs(model), weights: bound });
    const widths = model.cacheWidths;
    const step = await engine.compile({ outputs: stepOutputs(model, beam, widths), weights: bound });
    return new Translator(model, specials, [beam, lengthPenalty], [encoder, step], widths);
  }

  private constructor(
    model: TranslationModel,
    specials: Specials,
    [beam, alpha]: readonly [number, number],
    [encoder, step]: readonly [Program, Program],
    widths: readonly number[],
  ) {
    [this.#model, this.#specials, this.#beam, this.#alpha] = [model, specials, beam, alpha];
    [this.#encoder, this.#step, this.#widths] = [encoder, step, widths];
  }

  /** Sources, each ending with EOS → translations without begin and end. `onDone` is told how many are finished. */
  async translate(sources: readonly Int32Array[], onDone?: (count: number) => void): Promise<number[][]> {
    const { length } = this.#model.options;
    const long = sources.findIndex((ids) => ids.length > length || ids.length === 0);
    if (long >= 0) {
      const got = `${sources[long]!.length} in line ${long + 1}`;
      rejectData({ who: "translation", needed: `1 to ${length} pieces per line`, got, remedy: "split the line" });
    }
    // Sentences of like length finish at about the same time.
    const order = [...sources.keys()].sort((a, b) => sources[a]!.length - sources[b]!.length);
    const results: number[][] = [];
    for (let i = 0; i < order.length; i += SENTENCES) {
      const some = order.slice(i, i + SENTENCES);
      const found = await this.#search(some.map((k) => sources[k]!));
      some.forEach((k, j) => {
        results[k] = [...found[j]!.best];
      });
      onDone?.(i + some.length);
    }
    return results;
  }

  async #search(sources: readonly Int32Array[]): Promise<Beam[]> {
    const { padding, memory } = await this.#encode(sources);
    const { vocabulary, length: longest } = this.#model.options;
    const [batch, beams] = [sources.length, this.#beam];
    const sentences = sources.map(({ length }) => {
      return new Beam(beams, this.#alpha, this.#specials.eosId, Math.min(longest, Math.ceil(1.5 * length) + 10));
    });
    const ids = new Int32Array(batch * beams).fill(this.#specials.bosId);
    const parents = Int32Array.from(ids, (_, row) => row);
    let past = this.#emptyCaches(batch);
    while (sentences.some(({ done }) => !done)) {
      const shape = [batch, beams];
      const { logProbabilities, ...caches } = await this.#step.run({
        ids: { data: ids.slice(), shape },
        parents: { data: parents.slice(), shape },
        padding,
        ...memory,
        ...past,
      });
      past = Object.fromEntries(
        Object.entries(caches).map(([name, { data, shape }]) => [
          name.replace("new ", ""),
          { data, shape: [batch, beams, ...shape.slice(1)] },
        ]),
      );
      const rows = logProbabilities!.data as Float32Array;
      sentences.forEach((sentence, b) => {
        const first = b * beams;
        const own = rows.subarray(first * vocabulary, (first + beams) * vocabulary);
        const choices = sentence.done ? [] : sentence.advance(own, vocabulary);
        for (let k = 0; k < beams; k++) {
          parents[first + k] = first + (choices[k]?.parent ?? 0);
          ids[first + k] = choices[k]?.token ?? this.#specials.eosId;
        }
      });
    }
    return sentences;
  }

  async #encode(sources: readonly Int32Array[]): Promise<{ padding: Feed; memory: State }> {
    const longest = Math.max(...sources.map(({ length }) => length));
    const shape = [sources.length, longest];
    const ids = new Int32Array(sources.length * longest).fill(this.#specials.padId);
    const hidden = new Uint8Array(ids.length).fill(1);
    sources.forEach((source, b) => {
      ids.set(source, b * longest);
      hidden.fill(0, b * longest, b * longest + source.length);
    });
    const padding = { data: hidden, shape };
    return { padding, memory: await this.#encoder.run({ ids: { data: ids, shape }, padding }) };
  }

  #emptyCaches(batch: number): State {
    const empty = (width: number) => ({ data: new Float32Array(), shape: [batch, this.#beam, 0, width] });
    return Object.fromEntries(
      this.#widths.flatMap((width, cache) => names("past", cache).map((name) => [name, empty(width)])),
    );
  }

  async release(): Promise<void> {
    await Promise.all([this.#encoder.release(), this.#step.release()]);
  }
}

const names = (what: string, i: number) => [`${what} keys ${i}`, `${what} values ${i}`] as const;

const named = (what: string, pairs: readonly KeyValues[]) =>
  Object.fromEntries(
    pairs.flatMap(({ keys, values }, i) => [keys, values].map((tensor, k) => [names(what, i)[k]!, tensor] as const)),
  );

/** Sources [B, S] → what the decoder's layers remember of them. */
function encoderOutputs(model: TranslationModel): Record<string, Tensor> {
  const memory = model.encode(input("ids", ["B", "S"], "int"), input("padding", ["B", "S"], "bool"));
  return simplifyNamed(named("memory", memory));
}

/** What each source is remembered by. */
function memoryInputs(model: TranslationModel): KeyValues[] {
  return Array.from({ length: model.memories }, (_, i) => {
    const [keys, values] = names("memory", i).map((name) => input(name, ["B", "S", model.options.width]));
    return { keys: keys!, values: values! };
  });
}

/** One piece for each of B·K hypotheses, after the P pieces of their parents. */
function stepOutputs(model: TranslationModel, beams: number, widths: readonly number[]): Record<string, Tensor> {
  const rows = `${beams}*B`;
  const asRows = beams === 1 ? "B" : rows;
  const parents = reshape(input("parents", ["B", beams], "int"), [asRows]);
  const past = widths.map((width, cache): KeyValues => {
    const [keys, values] = names("past", cache).map((name) => {
      return gather(reshape(input(name, ["B", beams, "P", width]), [asRows, "P", width]), parents);
    }) as [Tensor, Tensor];
    return { keys, values };
  });
  const ids = reshape(input("ids", ["B", beams], "int"), [asRows, 1]);
  const padding = input("padding", ["B", "S"], "bool");
  const { logProbabilities, added } = model.decode(ids, past, memoryInputs(model), padding, beams);
  const longer = added.map(({ keys, values }, depth) => ({
    keys: concat([past[depth]!.keys, keys], 1),
    values: concat([past[depth]!.values, values], 1),
  }));
  return simplifyNamed({ logProbabilities, ...named("new past", longer) });
}
