/** Trains a unigram vocabulary: seeds, then expectation-maximisation and pruning in turn, down to the wanted size. */
import { reject, rejectData } from "../../../base/errors.ts";
import { writeCharsmap } from "../charsmap.ts";
import { defaultNormaliserSpec, type Model, type NormaliserSpec, type Piece } from "../model.ts";
import { type Normalisation, normalisationRules } from "../normalisation-rules.ts";
import { Candidates } from "./candidates.ts";
import { type Fragments, fragmentsOf } from "./fragments.ts";
import { checkOptions, metaPieces, type TrainingOptions, trainerSpec } from "./options.ts";
import { prune } from "./prune.ts";
import { makeSeeds } from "./seeds.ts";
import { WordCounts } from "./word-counts.ts";

/** Pruning stops this much above the wanted size; the last pieces are chosen by score. */
const HEADROOM = 1.1;
/** Characters that lost their piece get the least score and a little more, the more frequent ones less. */
const SCORE_STEP = 0.0001;
const WHO = "tokenizer training";

/** A step of the training, for those who watch. */
export interface TrainingStep {
  stage: "seeds" | "improve" | "prune";
  pieces: number;
  /** Mean log likelihood of a word, after an improvement. */
  likelihood?: number;
  /** After the seeds: about how many steps will follow. */
  steps?: number;
}

/** A training run: add lines, then finish. */
export class Trainer {
  readonly #options: TrainingOptions;
  readonly #meta: Map<number, Piece>;
  readonly #normaliser: NormaliserSpec;
  readonly #words: WordCounts;

  constructor(options: TrainingOptions) {
    checkOptions(options);
    this.#options = options;
    this.#meta = metaPieces(options);
    this.#normaliser = normaliserSpec(options.normalisation);
    this.#words = new WordCounts(this.#normaliser, options.splitByWhitespace);
  }

  /** Takes one line of the training text, without its newline. */
  add(line: string): void {
    this.#words.add(line);
  }

  get lines(): number {
    return this.#words.lines;
  }

  /** Overlong words that were left out. */
  get skipped(): number {
    return this.#words.skipped;
  }

  finish(report: (step: TrainingStep) => void = () => {}): Model {
    const symbols = [...this.#meta.values()].map((piece) => piece.text);
    const fragments = fragmentsOf(this.#words.finish(), symbols, this.#options.characterCoverage);
    this.#checkAlphabet(fragments);
    const candidates = new Candidates(fragments, makeSeeds(fragments, this.#options));
    report({ stage: "seeds", pieces: candidates.alive, steps: this.#stepsFrom(candidates.alive) });
    this.#shrink(candidates, report);
    return this.#model(this.#choose(candidates));
  }

  /** Each round improves a few times, and prunes to a fraction of the pieces. */
  #stepsFrom(seeds: number): number {
    const { vocabularySize, subIterations, shrinkingFactor } = this.#options;
    const rounds = Math.max(0, Math.ceil(Math.log(vocabularySize / seeds) / Math.log(shrinkingFactor)));
    return (subIterations + 1) * rounds + subIterations;
  }

  #checkAlphabet({ characters, counts }: Fragments): void {
    if (counts.length === 0) rejectData({ who: WHO, needed: "text", got: `${this.lines} lines without a word` });
    const needed = characters.length + this.#meta.size;
    if (needed <= this.#options.vocabularySize) return;
    reject(
      {
        who: WHO,
        needed: `a vocabulary of at least ${needed} (${characters.length} characters, ${this.#meta.size} symbols)`,
        got: `${this.#options.vocabularySize}`,
        remedy: "ask for more pieces or lower the character coverage",
      },
      2,
    );
  }

  #shrink(candidates: Candidates, report: (step: TrainingStep) => void): void {
    const { vocabularySize, subIterations, shrinkingFactor } = this.#options;
    const wanted = Math.floor(vocabularySize * HEADROOM);
    for (;;) {
      for (let i = 0; i < subIterations; i++) {
        const likelihood = candidates.improve();
        report({ stage: "improve", pieces: candidates.alive, likelihood });
      }
      const before = candidates.alive;
      if (before <= wanted) return;
      prune(candidates, Math.max(wanted, Math.floor(shrinkingFactor * before)));
      report({ stage: "prune", pieces: candidates.alive });
      // Pieces that nothing can replace all stay; if only such are left, the scores decide.
      if (candidates.alive === before) return;
    }
  }

  /** All characters of the alphabet, then the best pieces that fit. */
  #choose(candidates: Candidates): Piece[] {
    const scores = new Map<string, number>();
    for (const id of candidates.living()) scores.set(candidates.textOf(id), candidates.scores[id]!);
    const chosen = new Map<string, number>();
    let lost = 0;
    for (const character of candidates.fragments.characters) {
      chosen.set(character, scores.get(character) ?? candidates.least + SCORE_STEP * lost++);
    }
    const room = this.#options.vocabularySize - this.#meta.size;
    for (const [text, score] of sorted(scores)) {
      if (chosen.size >= room) break;
      chosen.set(text, chosen.get(text) ?? score);
    }
    if (chosen.size < room) this.#tooLarge(chosen.size + this.#meta.size);
    return sorted(chosen).map(([text, score]) => ({ text, score: Math.fround(score), kind: "normal" }));
  }

  #tooLarge(possible: number): never {
    const { vocabularySize } = this.#options;
    reject(
      {
        who: WHO,
        needed: `a vocabulary of at most ${possible} for this text`,
        got: `${vocabularySize}`,
        remedy: `ask for ${possible} pieces or give more text`,
      },
      2,
    );
  }

  #model(chosen: readonly Piece[]): Model {
    const pieces: Piece[] = [];
    let next = 0;
    for (let id = 0; id < this.#options.vocabularySize; id++) pieces.push(this.#meta.get(id) ?? chosen[next++]!);
    return { pieces, trainer: trainerSpec(this.#options), normaliser: this.#normaliser, denormaliser: undefined };
  }
}

function sorted(scores: ReadonlyMap<string, number>): [string, number][] {
  return [...scores].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

function normaliserSpec(name: Normalisation): NormaliserSpec {
  return { ...defaultNormaliserSpec(), name, charsmap: writeCharsmap(normalisationRules(name)) };
}
