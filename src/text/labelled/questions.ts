/** Questions on a text, whose answers stand in it, in SQuAD's form, and how well guessed answers agree with them. */
import { reject } from "../../base/errors.ts";

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

/** Reads SQuAD's JSON, version 1 or 2; what is wrong is named by its path, and every answer has to stand where it says. */
export function parseSquad(json: string, source: string, { answered = true }: SquadReading = {}): Question[] {
  const found = listIn(parsed(json, source), "data", source).flatMap(({ value, who }) =>
    listIn(value, "paragraphs", who).flatMap((paragraph) => {
      const context = textIn(paragraph.value, "context", paragraph.who);
      return listIn(paragraph.value, "qas", paragraph.who).map((each) => questionIn(each, context, answered));
    }),
  );
  if (found.length === 0) reject({ code: "bad-data", who: source, needed: "at least one question", got: "none" });
  return found;
}

function parsed(json: string, who: string): Values {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "object" && value !== null) return value as Values;
  } catch (error) {
    reject({ code: "bad-data", who, needed: "JSON", got: error instanceof Error ? error.message : "none" });
  }
  return reject({ code: "bad-data", who, needed: "an object with data", got: json.slice(0, 40) });
}

function listIn(value: Values, key: string, who: string): { value: Values; who: string }[] {
  const list = value[key];
  if (!Array.isArray(list)) return reject({ code: "bad-data", who, needed: `a list called ${key}`, got: typeof list });
  return list.map((each: unknown, i) => {
    const place = `${who} / ${key}.${i}`;
    if (typeof each === "object" && each !== null) return { value: each as Values, who: place };
    return reject({ code: "bad-data", who: place, needed: "an object", got: JSON.stringify(each) });
  });
}

function textIn(value: Values, key: string, who: string): string {
  const text = value[key];
  if (typeof text === "string" && text.trim() !== "") return text;
  return reject({ code: "bad-data", who, needed: `a text called ${key}`, got: JSON.stringify(text) ?? "none" });
}

function questionIn({ value, who }: { value: Values; who: string }, context: string, answered: boolean): Question {
  const open = value.is_impossible === true || (!answered && value.answers === undefined);
  const answers = open ? [] : listIn(value, "answers", who);
  if (answers.length === 0 && value.is_impossible !== true && answered) {
    reject({ code: "bad-data", who, needed: "an answer, or is_impossible", got: "none" });
  }
  return {
    id: textIn(value, "id", who),
    question: textIn(value, "question", who),
    context,
    answers: answers.map((answer) => answerIn(answer, context)),
  };
}

function answerIn({ value, who }: { value: Values; who: string }, context: string) {
  const text = textIn(value, "text", who);
  const start = value.answer_start;
  if (typeof start === "number" && context.slice(start, start + text.length) === text) return { text, start };
  const needed = `${JSON.stringify(text)} in the context at answer_start`;
  return reject({ code: "bad-data", who, needed, got: `answer_start ${JSON.stringify(start) ?? "none"}` });
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
