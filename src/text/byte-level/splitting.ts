/** Pre-tokenizers of tokenizer.json: how text is cut before pieces are merged, so that no piece reaches over a cut. */
import { rejectFile } from "../../base/errors.ts";
import { escaped, GPT2, patternOf } from "./pattern.ts";

/** Cuts a part of a text into smaller ones. */
export type Split = (text: string) => readonly string[];

type Json = Readonly<Record<string, unknown>>;

/** The cuts that a `pre_tokenizer` makes, one after the other, the last of them on bytes. */
export function splitsOf(stated: Json | null, source: string): Split[] {
  const who = `${source} / pre_tokenizer`;
  const steps = stated?.type === "Sequence" ? (stated.pretokenizers as Json[]) : stated ? [stated] : [];
  if (steps.at(-1)?.type !== "ByteLevel") {
    const got = steps.map(({ type }) => type).join(", ") || "none";
    const remedy = "for SentencePiece vocabularies give the .model file";
    rejectFile({ who, needed: "a byte-level tokenizer (ByteLevel last)", got, remedy });
  }
  return steps.flatMap((step) => (makers[`${step.type}`] ?? refuseKind(who, step))(step, who));
}

function refuseKind(who: string, { type }: Json): never {
  return rejectFile({ who, needed: `one of ${Object.keys(makers).join(", ")}`, got: JSON.stringify(type) });
}

const makers: Readonly<Record<string, (step: Json, who: string) => Split[]>> = {
  ByteLevel: ({ add_prefix_space: prefix, use_regex: splits = true }, who) => [
    ...(prefix ? [(text: string) => [text.startsWith(" ") ? text : ` ${text}`]] : []),
    ...(splits ? [isolated(patternOf(GPT2, who))] : []),
  ],
  Split: ({ pattern, behavior, invert }, who) => {
    if (behavior !== "Isolated" || invert === true) {
      const got = `${behavior}${invert === true ? ", inverted" : ""}`;
      rejectFile({ who: `${who} / Split`, needed: "behavior Isolated, not inverted", got });
    }
    const { Regex: regex, String: literal } = (pattern ?? {}) as { Regex?: string; String?: string };
    return [isolated(patternOf(regex ?? escaped(literal ?? ""), `${who} / Split`))];
  },
  Digits: ({ individual_digits: single }, who) => [isolated(patternOf(single ? "\\p{N}" : "\\p{N}+", who))],
};

/** What an expression finds and what lies between are parts of their own. */
const isolated =
  (pattern: RegExp): Split =>
  (text) => {
    // Most expressions find all of a text, which is quicker without places.
    const whole = text.match(pattern);
    if (whole && whole.reduce((sum, { length }) => sum + length, 0) === text.length) return whole;
    const parts: string[] = [];
    let end = 0;
    for (const { 0: found, index } of text.matchAll(pattern)) {
      if (index > end) parts.push(text.slice(end, index));
      if (found !== "") parts.push(found);
      end = index + found.length;
    }
    if (end < text.length) parts.push(text.slice(end));
    return parts;
  };
