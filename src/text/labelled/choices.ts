/** Questions of which one of several texts is right, in JSON lines. */
import { reject } from "../../base/errors.ts";
import { parseTable, type TableRow } from "./labelled-table.ts";

/** A text, what may follow it, and which of them does. */
export interface ChoiceQuestion {
  readonly text: string;
  readonly choices: readonly string[];
  /** Place of the right one, from 0. */
  readonly label: number;
}

/** How lines are read. */
export interface ChoiceReading {
  /** How many choices each has. Default: as many as the first. */
  readonly choices?: number | undefined;
  /** Off: a label may be missing, and is 0 then. Default: on. */
  readonly labelled?: boolean | undefined;
}

/** Reads lines of {text, choices, label}: label is a place from 0, or one of the choices. */
export function parseChoices(
  lines: Iterable<string>,
  source: string,
  { choices: asked, labelled = true }: ChoiceReading = {},
): ChoiceQuestion[] {
  const { rows } = parseTable(lines, { source, form: "jsonl" });
  const questions = rows.map((row) => questionIn(row, `${source}: line ${row.line}`, labelled));
  const count = asked ?? questions[0]!.choices.length;
  for (const [i, { choices }] of questions.entries()) {
    const who = `${source}: line ${rows[i]!.line}`;
    if (choices.length === count) continue;
    reject({ code: "bad-data", who, needed: `${count} choices`, got: `${choices.length}` });
  }
  return questions;
}

function questionIn({ cells: { text, choices, label } }: TableRow, who: string, labelled: boolean): ChoiceQuestion {
  const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== "";
  if (!isText(text)) reject({ code: "bad-data", who, needed: "a text", got: JSON.stringify(text) ?? "none" });
  if (!Array.isArray(choices) || choices.length < 2 || !choices.every(isText)) {
    reject({ code: "bad-data", who, needed: "two or more choices, all texts", got: JSON.stringify(choices) ?? "none" });
  }
  if (label === undefined && !labelled) return { text, choices, label: 0 };
  const place = typeof label === "string" ? choices.indexOf(label) : typeof label === "number" ? label : -1;
  if (Number.isInteger(place) && place >= 0 && place < choices.length) return { text, choices, label: place };
  const needed = `one of the choices as label, or its place from 0 to ${choices.length - 1}`;
  return reject({ code: "bad-data", who, needed, got: JSON.stringify(label) ?? "none" });
}
