/** Questions on a text, whose answers stand in it, in SQuAD's form, and how well guessed answers agree with them. */
import { messageOf, rejectData } from "../../base/errors.ts";
import { brokenJsonLine, type JsonKey, jsonLine } from "../../base/json-place.ts";

/** A question on a text. */
export interface Question {
  readonly id: string;
  readonly question: string;
  readonly context: string;
  /** Answers with the place of their first character; none: the text does not say. */
  readonly answers: readonly { readonly text: string; readonly start: number }[];
}

type Values = Readonly<Record<string, unknown>>;

/** How questions are read. */
export interface SquadReading {
  /** Off: questions may lack answers, which are asked for then. Default: on. */
  readonly answered?: boolean | undefined;
}

/** A part of a file: its value, and the keys that lead to it. */
interface Part {
  readonly value: Values;
  readonly path: readonly JsonKey[];
  readonly file: { readonly json: string; readonly source: string };
}

/** Reads SQuAD's JSON, version 1 or 2; what is wrong is named by line and path, and every answer has to stand where it says. */
export function parseSquad(json: string, source: string, { answered = true }: SquadReading = {}): Question[] {
  const found = listIn(wholeOf(json, source), "data").flatMap((article) =>
    listIn(article, "paragraphs").flatMap((paragraph) => {
      const context = textIn(paragraph, "context");
      return listIn(paragraph, "qas").map((each) => questionIn(each, context, answered));
    }),
  );
  if (found.length === 0) rejectData({ who: source, needed: "at least one question", got: "none" });
  return found;
}

function wholeOf(json: string, source: string): Part {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    const who = `${source}: line ${brokenJsonLine(json) ?? 1}`;
    rejectData({ who, needed: "JSON", got: messageOf(error) });
  }
  if (typeof value === "object" && value !== null) return { value: value as Values, path: [], file: { json, source } };
  return rejectData({ who: `${source}: line 1`, needed: "an object with data", got: json.slice(0, 40) });
}

/** `file: line 7 / data.0 / paragraphs.3`; the line is looked for only where there is something to complain of. */
function whoIs({ path, file: { json, source } }: Part): string {
  const names = path.flatMap((key, i) => (typeof key === "number" ? [`${path[i - 1]}.${key}`] : []));
  return [`${source}: line ${jsonLine(json, path)}`, ...names].join(" / ");
}

function refuse(part: Part, needed: string, got: string): never {
  return rejectData({ who: whoIs(part), needed, got });
}

function listIn(part: Part, key: string): Part[] {
  const list = part.value[key];
  if (!Array.isArray(list)) return refuse(part, `a list called ${key}`, list === undefined ? "none" : typeof list);
  return list.map((value: unknown, i) => {
    const each = { ...part, value: value as Values, path: [...part.path, key, i] };
    return typeof value === "object" && value !== null ? each : refuse(each, "an object", JSON.stringify(value));
  });
}

function textIn(part: Part, key: string): string {
  const text = part.value[key];
  if (typeof text === "string" && text.trim() !== "") return text;
  return refuse(part, `a text called ${key}`, JSON.stringify(text) ?? "none");
}

function questionIn(part: Part, context: string, answered: boolean): Question {
  const { is_impossible: impossible, answers: given } = part.value;
  const open = impossible === true || (!answered && given === undefined);
  const answers = open ? [] : listIn(part, "answers");
  if (answers.length === 0 && impossible !== true && answered) refuse(part, "an answer, or is_impossible", "none");
  return {
    id: textIn(part, "id"),
    question: textIn(part, "question"),
    context,
    answers: answers.map((answer) => answerIn(answer, context)),
  };
}

function answerIn(part: Part, context: string) {
  const text = textIn(part, "text");
  const start = part.value.answer_start;
  if (typeof start === "number" && context.slice(start, start + text.length) === text) return { text, start };
  const needed = `${JSON.stringify(text)} in the context at answer_start`;
  return refuse(part, needed, `answer_start ${JSON.stringify(start) ?? "none"}`);
}

/** As SQuAD compares answers: without case, punctuation, articles and double spaces. */
export function plainAnswer(text: string): string {
  const bare = text.toLowerCase().replace(/[!-/:-@[-`{-~]/g, "");
  return bare
    .replace(/\b(a|an|the)\b/g, " ")
    .split(/\s+/u)
    .filter(Boolean)
    .join(" ");
}

/** The fraction of guesses that are an answer, and the mean F1 of their words with the nearest answer. */
export function answerFigures(questions: readonly Question[], guesses: readonly string[]): Record<string, number> {
  const best = (each: Question, score: (answer: string) => number) =>
    Math.max(...(each.answers.length > 0 ? each.answers.map(({ text }) => text) : [""]).map(score));
  const mean = (score: (answer: string, guess: string) => number) =>
    questions.reduce((sum, each, i) => sum + best(each, (answer) => score(answer, guesses[i]!)), 0) / questions.length;
  return { f1: mean(wordF1), exact: mean((answer, guess) => Number(plainAnswer(answer) === plainAnswer(guess))) };
}

function wordF1(answer: string, guess: string): number {
  const [real, said] = [answer, guess].map((text) => plainAnswer(text).split(" ").filter(Boolean)) as [
    string[],
    string[],
  ];
  if (real.length === 0 || said.length === 0) return Number(real.length === said.length);
  const left = [...real];
  const common = said.filter((word) => {
    const at = left.indexOf(word);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  }).length;
  return (2 * common) / (real.length + said.length);
}
