/** A SentencePiece model with ALBERT's way of preparing text as tokenizer.json, which Hugging Face's tokenizers read in Python, Rust and JavaScript. */
import { reject } from "../../base/errors.ts";
import type { Model, Piece } from "../sentencepiece/model.ts";
import { SPACE_MARK } from "../sentencepiece/utf8.ts";
import { combines } from "./documents.ts";

/** Names of the pieces that frame, mask and fill. */
export interface FramePieces {
  readonly pad: string;
  readonly cls: string;
  readonly sep: string;
  readonly mask: string;
}

/** Why the format cannot hold a model; undefined where it can. */
function obstacle({ trainer, normaliser }: Model): string | undefined {
  if (trainer.kind !== "unigram") return `one of kind ${trainer.kind}`;
  if (trainer.byteFallback) return "one that falls back to bytes";
  if (trainer.whitespaceAsSuffix) return "one whose pieces end with spaces";
  return normaliser.escapeWhitespaces ? undefined : "one that leaves spaces as they are";
}

/** The tokenizer.json of a unigram model: texts are prepared as `normaliseForAlbert` does, framed by [CLS] and [SEP]. `who` asks, for errors. */
export function albertTokenizerJson(model: Model, frame: FramePieces, who: string): Record<string, unknown> {
  const got = obstacle(model);
  if (got) reject({ who, needed: "a unigram tokenizer", got, remedy: "export it as ONNX" }, 2);
  const spaces = { replacement: SPACE_MARK, prepend_scheme: model.normaliser.addDummyPrefix ? "always" : "never" };
  const unknown = model.pieces.findIndex(({ kind }) => kind === "unknown");
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: model.pieces.flatMap((piece, id) => addedToken(piece, id, frame.mask)),
    normalizer: { type: "Sequence", normalizers: normalisers(model) },
    pre_tokenizer: { type: "Metaspace", ...spaces },
    post_processor: framing(frame, (piece) => model.pieces.findIndex(({ text }) => text === piece)),
    decoder: { type: "Metaspace", ...spaces },
    model: { type: "Unigram", unk_id: unknown, byte_fallback: false, vocab: vocabularyOf(model) },
  };
}

/** What text never gives, or gives whole. Before a mask, spaces go. */
function addedToken({ text, kind }: Piece, id: number, mask: string) {
  if (kind !== "control" && kind !== "unknown" && kind !== "user") return [];
  const special = kind !== "user";
  return [{ id, content: text, single_word: false, lstrip: text === mask, rstrip: false, normalized: false, special }];
}

/** Far below all others: a piece that no text should get. */
const NEVER = -1000;

/** Pieces and scores. Those that end in digit and comma are made unlikely: the comma is to be its own piece. */
function vocabularyOf({ pieces }: Model): [string, number][] {
  return pieces.map(({ text, score, kind }) => {
    if (kind === "unused") return [text, NEVER];
    return [text, /\p{Nd},$/u.test(text) ? score - 100 : score];
  });
}

const replace = (pattern: string, content: string) => ({ type: "Replace", pattern: { Regex: pattern }, content });

/** As `normaliseForAlbert`, then the model's own rules, which JavaScript's tokenizers take for NFKC. */
function normalisers({ normaliser: { charsmap } }: Model): Record<string, unknown>[] {
  const trimmed = [replace("\\s+", " "), { type: "Strip", strip_left: true, strip_right: true }];
  const plain = [...trimmed, { type: "NFKD" }, replace(combiningMarks(), ""), { type: "Lowercase" }];
  if (charsmap.length === 0) return plain;
  const text = Array.from(charsmap, (byte) => String.fromCharCode(byte)).join("");
  return [...plain, { type: "Precompiled", precompiled_charsmap: btoa(text) }, ...trimmed];
}

/** A class of all marks that combine: their ranges. */
function combiningMarks(): string {
  const ranges: [number, number][] = [];
  for (let code = 0x300; code < 0x20000; code++) {
    const character = String.fromCodePoint(code);
    if (!/\p{M}/u.test(character) || !combines(character)) continue;
    if (ranges.at(-1)?.[1] === code - 1) ranges.at(-1)![1] = code;
    else ranges.push([code, code]);
  }
  return `[${ranges.map(([from, to]) => `${String.fromCodePoint(from)}-${String.fromCodePoint(to)}`).join("")}]`;
}

/** [CLS] a [SEP], and [CLS] a [SEP] b [SEP] with the second text of kind 1. */
function framing({ cls, sep }: FramePieces, idOf: (piece: string) => number) {
  const special = (id: string, type_id: number) => ({ SpecialToken: { id, type_id } });
  const text = (id: string, type_id: number) => ({ Sequence: { id, type_id } });
  const single = [special(cls, 0), text("A", 0), special(sep, 0)];
  const tokens = [cls, sep].map((piece) => [piece, { id: piece, ids: [idOf(piece)], tokens: [piece] }]);
  return {
    type: "TemplateProcessing",
    single,
    pair: [...single, text("B", 1), special(sep, 1)],
    special_tokens: Object.fromEntries(tokens),
  };
}
