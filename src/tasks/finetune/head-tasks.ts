/** Tasks besides classes of whole texts: a tag per word, an answer within a text, one of several texts. */
import { reject } from "../../base/errors.ts";
import { check, whole } from "../../base/options.ts";
import type { HeadOptions } from "../../model/albert/description.ts";
import { IGNORED } from "../../model/albert/losses.ts";
import type { ChoiceQuestion } from "../../text/labelled/choices.ts";
import { framed } from "../../text/labelled/glue-batches.ts";
import { answerFigures, type Question } from "../../text/labelled/questions.ts";
import { type TaggedSentence, tagFigures } from "../../text/labelled/tagged.ts";
import { normaliseForAlbert, type PieceTokenizer, specialIds } from "../../text/masked/documents.ts";
import { alignWords } from "../../text/probing/alignment.ts";

/** A text or pair as ids, and where its second segment begins. */
export interface FramedRow {
  readonly ids: Int32Array;
  readonly second: number;
}

/** An example as the model reads it. */
export interface HeadExample {
  /** As many as the task has per example. */
  readonly rows: readonly FramedRow[];
  /** What the head is to say; undefined where the text had to be cut before it: nothing is learnt from that one. */
  readonly targets: Readonly<Record<string, readonly number[]>> | undefined;
  /** What `read` needs to find its way back, such as the place of each word. */
  readonly places: readonly number[];
}

/** What the head says of one example: a list of numbers by name. */
export type HeadScores = Readonly<Record<string, Float32Array>>;

/** Probabilities by name: of tags for each word, of an answer, of choices by their places. */
export type HeadProbabilities = Readonly<Record<string, number>> | readonly Readonly<Record<string, number>>[];

/** What is learnt with a head: how examples become rows, what scores say, and how answers are judged. */
export interface HeadTask<X, Y> {
  readonly name: string;
  readonly heads: HeadOptions;
  /** Rows of a batch per example. */
  readonly rows: number;
  /** What stands in for missing targets, where there is one per token; absent: targets are one per example. */
  readonly padding?: number | undefined;
  /** The figure that decides which epoch is best. */
  readonly decisive: string;
  encode(example: X, tokenizer: PieceTokenizer, length: number): HeadExample;
  read(scores: HeadScores, encoded: HeadExample, example: X): Y;
  /** How probable what was read is, and what else might have been. */
  probabilities?(scores: HeadScores, encoded: HeadExample, answer: Y): HeadProbabilities;
  figures(examples: readonly X[], answers: readonly Y[]): Record<string, number>;
}

const spaced = (words: readonly string[]) => words.map((form) => ({ form, spaceAfter: true }));
const largest = (values: Float32Array) => values.indexOf(Math.max(...values));
const named = (names: readonly string[], values: readonly number[]) =>
  Object.fromEntries(names.map((name, i) => [name, values[i]!]));

/** eˣ over their sum. */
function softmaxOf(values: Float32Array): number[] {
  const most = Math.max(...values);
  const powers = Array.from(values, (value) => Math.exp(value - most));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / total);
}

/** A tag per word: the first piece of a word is asked. Judged by F1 of whole spans where tags are B-X, I-X and O, else by accuracy. */
export function tagging({ labels }: { readonly labels: readonly string[] }): HeadTask<TaggedSentence, string[]> {
  if (labels.length < 2) reject({ who: "tagging", needed: "two or more tags", got: labels.join(", ") || "none" }, 2);
  return {
    name: "tagging",
    heads: { tokenClassification: { labels: labels.length } },
    rows: 1,
    padding: IGNORED,
    decisive: labels.some((tag) => /^[BI]-/.test(tag)) ? "f1" : "accuracy",
    encode: ({ words, tags }, tokenizer, length) => {
      const aligned = alignWords(spaced(words), tokenizer);
      const row = framed([[...aligned.ids]], specialIds(tokenizer), length);
      const firsts = words.map((_, word) => aligned.words.indexOf(word) + 1); // after [CLS]; 0 where a word has no piece
      const places = firsts.map((place) => (place < row.ids.length - 1 ? place : 0));
      const targets = new Array<number>(row.ids.length).fill(IGNORED);
      for (const [word, place] of places.entries())
        if (place > 0 && tags[word]) targets[place] = tagIndex(labels, tags[word]);
      return { rows: [row], targets: places.some(Boolean) ? { labels: targets } : undefined, places };
    },
    read: ({ tokens }, { places }) =>
      places.map((place) => {
        const row = tokens!.subarray(place * labels.length, (place + 1) * labels.length);
        return place === 0 ? labels[0]! : labels[largest(row)]!;
      }),
    // A word that was cut off got the first tag without being read.
    probabilities: ({ tokens }, { places }) =>
      places.map((place) => {
        const row = tokens!.subarray(place * labels.length, (place + 1) * labels.length);
        return place === 0 ? {} : named(labels, softmaxOf(row));
      }),
    figures: (examples, answers) =>
      tagFigures(
        examples.map(({ tags }) => tags),
        answers,
      ),
  };
}

function tagIndex(labels: readonly string[], tag: string): number {
  const index = labels.indexOf(tag);
  return index >= 0 ? index : reject({ who: "tagging", needed: `a tag of ${labels.join(", ")}`, got: tag }, 2);
}

/** How answers are looked for. */
export interface AnsweringOptions {
  /** Longest answer in pieces. Default: 30. */
  readonly longest?: number | undefined;
  /** Some texts do not say: the first token stands for that answer, which is an empty text. Default: off. */
  readonly unanswerable?: boolean | undefined;
}

/** Where the answer to a question stands in a text. Judged as SQuAD is: F1 of words, and exact matches. */
export function answering({ longest = 30, unanswerable = false }: AnsweringOptions = {}): HeadTask<Question, string> {
  check("answering / longest", longest, whole(1));
  return {
    name: "answering",
    heads: { questionAnswering: {} },
    rows: 1,
    decisive: "f1",
    encode: (question, tokenizer, length) => encodeQuestion(question, tokenizer, length, unanswerable),
    read: ({ starts, ends }, { rows: [row], places }, { context }) => {
      const span = likeliestSpan(starts!, ends!, row!, longest);
      if (unanswerable && starts![0]! + ends![0]! > span.score) return "";
      const words = wordsIn(context);
      const word = (piece: number) => words[places[piece - row!.second]!]!;
      return context.slice(word(span.from).start, word(span.to).end);
    },
    probabilities: ({ starts, ends }, { rows: [row] }, answer) => {
      const [from, to] = [starts!, ends!].map((scores) => softmaxOf(scores.subarray(0, row!.ids.length)));
      const span = likeliestSpan(starts!, ends!, row!, longest);
      const none = unanswerable ? { "": from![0]! * to![0]! } : {};
      return answer === "" ? none : { [answer]: from![span.from]! * to![span.to]!, ...none };
    },
    figures: answerFigures,
  };
}

/** Words of a text with their places. */
const wordsIn = (text: string) =>
  [...text.matchAll(/\S+/gu)].map(({ 0: form, index }) => ({ form, start: index, end: index + form.length }));

/** [CLS] question [SEP] text [SEP]; of a question at most half of the length. `places` is the word of each piece of the text. */
function encodeQuestion(
  { question, context, answers: [answer] }: Question,
  tokenizer: PieceTokenizer,
  length: number,
  unanswerable: boolean,
): HeadExample {
  const words = wordsIn(context);
  const aligned = alignWords(spaced(words.map(({ form }) => form)), tokenizer);
  const asked = [...tokenizer.encode(normaliseForAlbert(question))].slice(0, Math.floor(length / 2) - 2);
  const room = length - asked.length - 3;
  const row = framed([asked, [...aligned.ids].slice(0, room)], specialIds(tokenizer), length);
  const places = [...aligned.words].slice(0, room);
  const none = unanswerable ? { starts: [0], ends: [0] } : undefined;
  if (!answer) return { rows: [row], places, targets: none };
  const inside = places.map((word) => {
    const { start, end } = words[word]!;
    return start < answer.start + answer.text.length && end > answer.start;
  });
  const whole = words[aligned.words[room] ?? -1]; // the first word that is cut off
  const cut = whole !== undefined && whole.start < answer.start + answer.text.length;
  const [from, to] = [inside.indexOf(true), inside.lastIndexOf(true)];
  const targets = from < 0 || cut ? undefined : { starts: [row.second + from], ends: [row.second + to] };
  return { rows: [row], places, targets };
}

/** The likeliest span within the text: from ≤ to, at most `longest` pieces. */
function likeliestSpan(starts: Float32Array, ends: Float32Array, { ids, second }: FramedRow, longest: number) {
  let best = { from: second, to: second, score: Number.NEGATIVE_INFINITY };
  for (let from = second; from < ids.length - 1; from++) {
    for (let to = from; to < Math.min(from + longest, ids.length - 1); to++) {
      const score = starts[from]! + ends[to]!;
      if (score > best.score) best = { from, to, score };
    }
  }
  return best;
}

/** Which of several texts fits: each is read after the text that they belong to. Judged by accuracy. */
export function choosing({ choices: count }: { readonly choices: number }): HeadTask<ChoiceQuestion, number> {
  check("choosing / choices", count, whole(2));
  return {
    name: "choosing",
    heads: { multipleChoice: { choices: count } },
    rows: count,
    decisive: "accuracy",
    encode: ({ text, choices, label }, tokenizer, length) => {
      if (choices.length !== count) {
        reject({ who: "choosing", needed: `${count} choices`, got: `${choices.length}` }, 2);
      }
      const ids = (each: string) => [...tokenizer.encode(normaliseForAlbert(each))];
      const rows = choices.map((choice) => framed([ids(text), ids(choice)], specialIds(tokenizer), length));
      return { rows, targets: { labels: [label] }, places: [] };
    },
    read: ({ choices }) => largest(choices!),
    probabilities: ({ choices }) => Object.fromEntries(softmaxOf(choices!).entries()),
    figures: (examples, answers) => ({
      accuracy: examples.filter(({ label }, i) => label === answers[i]).length / examples.length,
    }),
  };
}
