/** A tokenizer.json of Hugging Face's tokenizers with byte-level byte-pair encoding, read and checked. */
import { messageOf, rejectFile } from "../../base/errors.ts";
import { LARGEST } from "../../base/limits.ts";
import { characterOf } from "./alphabet.ts";
import type { Merges } from "./merging.ts";
import { type Split, splitsOf } from "./splitting.ts";

/** A piece that text is searched for before anything else. */
export interface AddedPiece {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
  /** Searched for in normalised text. */
  readonly normalized: boolean;
  readonly singleWord: boolean;
  readonly leftStrip: boolean;
  readonly rightStrip: boolean;
}

/** What a tokenizer.json says. */
export interface ByteLevelModel {
  /** The piece of each id; undefined where the file has none. */
  readonly pieces: readonly (string | undefined)[];
  readonly ids: ReadonlyMap<string, number>;
  readonly added: readonly AddedPiece[];
  /** The id of each byte; -1 where it has none. */
  readonly byteIds: Int32Array;
  readonly merges: Merges;
  /** Whether a word that is a piece is taken as it is, whatever merges say. */
  readonly wholeWords: boolean;
  readonly unknownId: number;
  readonly splits: readonly Split[];
  normalise(text: string): string;
}

type Json = Readonly<Record<string, unknown>>;

/** Reads the text of a tokenizer.json; `source` names the file in errors. */
export function readByteLevel(text: string, source: string): ByteLevelModel {
  const { model, added_tokens: added = [], pre_tokenizer: cuts, normalizer, decoder } = parsed(text, source);
  const bpe = checkedModel(model as Json | undefined, source);
  checkDecoder(decoder as Json | null | undefined, source);
  const pieces = addedPieces(added, source);
  const ids = idsOf(bpe.vocab, pieces, source);
  const unknown = bpe.unk_token === null || bpe.unk_token === undefined ? -1 : (ids.get(`${bpe.unk_token}`) ?? -1);
  const listed: (string | undefined)[] = [];
  for (const [piece, id] of ids) listed[id] = piece;
  return {
    pieces: listed,
    ids,
    added: pieces,
    byteIds: byteIdsOf(ids, unknown, source),
    merges: mergesOf(bpe.merges, ids, listed.length, source),
    wholeWords: bpe.ignore_merges === true,
    unknownId: unknown,
    splits: splitsOf((cuts ?? null) as Json | null, source),
    normalise: normaliserOf((normalizer ?? null) as Json | null, `${source} / normalizer`),
  };
}

function parsed(text: string, source: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && "model" in value) return value as Json;
  } catch (error) {
    rejectFile({ who: source, needed: "JSON", got: messageOf(error) });
  }
  return rejectFile({
    who: source,
    needed: "a tokenizer.json of Hugging Face's tokenizers",
    got: "JSON without a model",
  });
}

/** Features of other kinds of byte-pair encoding. */
const features = ["byte_fallback", "continuing_subword_prefix", "end_of_word_suffix", "dropout"] as const;

function checkedModel(model: Json | undefined, source: string): Json {
  const who = `${source} / model`;
  const [type, others] = [model?.type ?? "BPE", features.filter((key) => model?.[key])];
  if (type !== "BPE" || others.length > 0) {
    const got = type === "BPE" ? others.join(", ") : `${type}`;
    const remedy = "for SentencePiece vocabularies give the .model file";
    rejectFile({ who, needed: "byte-level byte-pair encoding (BPE)", got, remedy });
  }
  if (typeof model?.vocab === "object" && model.vocab !== null && Array.isArray(model.merges)) return model;
  return rejectFile({ who, needed: "vocab and merges", got: Object.keys(model ?? {}).join(", ") || "nothing" });
}

function checkDecoder(decoder: Json | null | undefined, source: string): void {
  if (!decoder || decoder.type === "ByteLevel") return;
  rejectFile({ who: `${source} / decoder`, needed: "ByteLevel", got: `${decoder.type}` });
}

function addedPieces(added: unknown, source: string): AddedPiece[] {
  if (!Array.isArray(added))
    return rejectFile({ who: `${source} / added_tokens`, needed: "a list", got: typeof added });
  return added.map((each: Json) => ({
    id: each.id as number,
    content: `${each.content}`,
    special: each.special === true,
    normalized: each.normalized === true,
    singleWord: each.single_word === true,
    leftStrip: each.lstrip === true,
    rightStrip: each.rstrip === true,
  }));
}

function idsOf(vocab: unknown, added: readonly AddedPiece[], source: string): Map<string, number> {
  const all: [string, number][] = [
    ...Object.entries(vocab as Record<string, number>),
    ...added.map(({ content, id }): [string, number] => [content, id]),
  ];
  const wrong = all.find(([, id]) => !(Number.isInteger(id) && id >= 0 && id < LARGEST.pieces));
  if (wrong) {
    const needed = `whole ids below ${LARGEST.pieces}`;
    rejectFile({ who: `${source} / ${JSON.stringify(wrong[0])}`, needed, got: JSON.stringify(wrong[1]) });
  }
  return new Map(all);
}

function byteIdsOf(ids: ReadonlyMap<string, number>, unknown: number, source: string): Int32Array {
  const found = Int32Array.from(characterOf, (character) => ids.get(character) ?? unknown);
  const missing = found.indexOf(-1);
  if (missing < 0) return found;
  const got = `none for byte ${missing}, and no unk_token`;
  return rejectFile({ who: `${source} / vocab`, needed: "a piece for every byte", got });
}

function mergesOf(stated: unknown, ids: ReadonlyMap<string, number>, size: number, source: string): Merges {
  const ranks = new Map<number, number>();
  const merged = Int32Array.from(stated as unknown[], (each, rank) => {
    const pair = typeof each === "string" ? each.split(" ") : (each as string[]);
    const [left, right, whole] = [ids.get(pair[0]!), ids.get(pair[1]!), ids.get(pair.join(""))];
    if (pair.length !== 2 || left === undefined || right === undefined || whole === undefined) {
      const needed = "two pieces that are a piece together";
      return rejectFile({ who: `${source} / merges ${rank}`, needed, got: JSON.stringify(each) });
    }
    if (!ranks.has(left * size + right)) ranks.set(left * size + right, rank);
    return whole;
  });
  return { size, ranks, merged };
}

const forms: Readonly<Record<string, (text: string) => string>> = {
  NFC: (text) => text.normalize("NFC"),
  NFD: (text) => text.normalize("NFD"),
  NFKC: (text) => text.normalize("NFKC"),
  NFKD: (text) => text.normalize("NFKD"),
  Lowercase: (text) => text.toLowerCase(),
};

function normaliserOf(stated: Json | null, who: string): (text: string) => string {
  if (stated === null) return (text) => text;
  const steps = stated.type === "Sequence" ? (stated.normalizers as Json[]) : [stated];
  const known = steps.map(({ type }) => {
    return forms[`${type}`] ?? rejectFile({ who, needed: `one of ${Object.keys(forms).join(", ")}`, got: `${type}` });
  });
  return (text) => known.reduce((now, form) => form(now), text);
}
