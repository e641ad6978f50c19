/** What people give to heads that tag, answer or choose, and how answers are shown and written. */
import { reject } from "../../base/errors.ts";
import { type Row, table } from "../../base/table.ts";
import { readLines } from "../../files/lines.ts";
import { readChoices, readConll, readSquad } from "../../text/files/labelled.ts";
import { type ChoiceQuestion, parseChoices } from "../../text/labelled/choices.ts";
import { parseSquad, type Question } from "../../text/labelled/questions.ts";
import type { TaggedSentence } from "../../text/labelled/tagged.ts";
import type { Answered } from "./head-answers.ts";
import type { HeadAnswer, HeadInput, HeadKind, HeadSpec } from "./head-spec.ts";

/** What is asked about: a file, a text with a question, or lines. */
export interface Asked {
  readonly file?: string | undefined;
  readonly text?: string | undefined;
  /** The question on `text`. */
  readonly pair?: string | undefined;
  /** What came on standard input. */
  readonly lines?: string | undefined;
}

/** What lines without a file are called in errors. */
export const STDIN = "standard input";

/** The examples in it, without answers. */
export function headInputs(spec: HeadSpec, { file, text, pair, lines }: Asked): HeadInput[] {
  if (text !== undefined && file !== undefined) reject({ who: "predict", needed: "a file or --text", got: "both" }, 2);
  if (pair !== undefined && (spec.kind !== "qa" || text === undefined)) {
    reject({ who: "--pair", needed: "--text beside it, of a run that answers questions", got: "none" }, 2);
  }
  return readers[spec.kind](spec, { file, text, pair, lines });
}

const untagged = (text: string): TaggedSentence => ({ words: text.trim().split(/\s+/u), tags: [] });

const readers: Readonly<Record<HeadKind, (spec: HeadSpec, asked: Asked) => HeadInput[]>> = {
  tagging: (_, { file, text, lines }) => {
    if (file !== undefined && /\.(conll|bio|iob2?)$/i.test(file)) {
      return readConll(file).map(({ words }) => ({ words, tags: [] })); // their tags are not asked for
    }
    const said = text !== undefined ? [text] : file !== undefined ? [...readLines(file)] : (lines ?? "").split("\n");
    return said.filter((line) => line.trim() !== "").map(untagged);
  },
  qa: (_, { file, text, pair, lines }) => {
    if (file !== undefined) return readSquad(file, { answered: false });
    if (text === undefined) return parseSquad(lines ?? "", STDIN, { answered: false });
    const question = pair ?? reject({ who: "--text", needed: "a question as --pair", got: "none" }, 2);
    return [{ id: "1", question, context: text, answers: [] }];
  },
  choice: ({ choices }, { file, text, lines }) => {
    if (text !== undefined) reject({ who: "--text", needed: "a file of {text, choices}", got: "one text" }, 2);
    const reading = { choices, labelled: false };
    return file === undefined ? parseChoices((lines ?? "").split("\n"), STDIN, reading) : readChoices(file, reading);
  },
};

/** Answers as rows of data, as text for the terminal, and as a file that others read. */
export interface HeadReport {
  readonly rows: readonly object[];
  readonly text: string;
  /** CoNLL columns, SQuAD's {id: answer}, or a table of places. */
  readonly file: string;
}

/** Shows what was said about examples. */
export function headReport(
  { kind }: HeadSpec,
  inputs: readonly HeadInput[],
  answers: readonly Answered<HeadAnswer>[],
): HeadReport {
  return reports[kind](inputs, answers);
}

const cut = (text: string) => (text.length > 60 ? `${text.slice(0, 59)}…` : text);
const shown = (rows: readonly Row[]) => `${table(rows)}\n`;
/** The column of the probability of what was answered, where it is known. */
const scoreCell = (scores: Answered<HeadAnswer>["scores"], name: string): Row => {
  const score = scores && !Array.isArray(scores) ? (scores as Readonly<Record<string, number>>)[name] : undefined;
  return score === undefined ? {} : { score: score.toFixed(3) };
};

const reports: Readonly<
  Record<HeadKind, (inputs: readonly HeadInput[], answers: readonly Answered<HeadAnswer>[]) => HeadReport>
> = {
  tagging: (inputs, answers) => {
    const rows = (inputs as readonly TaggedSentence[]).map(({ words }, i) => {
      const { answer, scores, depth } = answers[i]!;
      return { words, tags: answer as string[], scores, depth };
    });
    const columns = rows.map(({ words, tags }) => words.map((word, i) => `${word}\t${tags[i]}\n`).join(""));
    return { rows, text: columns.join("\n"), file: columns.join("\n") };
  },
  qa: (inputs, answers) => {
    const rows = (inputs as readonly Question[]).map(({ id, question }, i) => ({ id, question, ...answers[i]! }));
    const named = Object.fromEntries(rows.map(({ id, answer }) => [id, answer]));
    const seen = rows.map(({ question, answer, scores }) => ({
      question: cut(question),
      answer: cut(`${answer}`) || "–",
      ...scoreCell(scores, `${answer}`),
    }));
    return { rows, text: shown(seen), file: `${JSON.stringify(named, null, 1)}\n` };
  },
  choice: (inputs, answers) => {
    const rows = (inputs as readonly ChoiceQuestion[]).map(({ text, choices }, i) => {
      const { answer, scores, depth } = answers[i]!;
      const label = answer as number;
      return { text, label, choice: choices[label]!, scores, depth };
    });
    const seen = rows.map(({ text, label, choice, scores }) => ({
      text: cut(text),
      label,
      choice: cut(choice),
      ...scoreCell(scores, `${label}`),
    }));
    const lines = rows.map(({ label }, i) => `${i}\t${label}`);
    return { rows, text: shown(seen), file: `${["index\tlabel", ...lines].join("\n")}\n` };
  },
};
