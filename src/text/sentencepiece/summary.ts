/** What is in a model, in numbers and examples. */
import { formatNumber, table } from "../../base/table.ts";
import type { Model, PieceKind } from "./model.ts";

/** What a model consists of, in figures. */
export interface ModelSummary {
  type: string;
  pieces: number;
  byKind: Record<PieceKind, number>;
  normalisation: string;
  /** Size of the rewriting rules in bytes. */
  ruleBytes: number;
  flags: Record<string, boolean>;
  /** Ids of the special pieces that exist. */
  special: Record<string, { id: number; piece: string }>;
  /** Normal pieces by length in characters. */
  pieceLength: { mean: number; longest: number; histogram: Record<number, number> };
  userSymbols: string[];
  controlSymbols: { id: number; piece: string }[];
  samples: { id: number; piece: string; score: number }[];
}

const SAMPLES = 8;

/** Counts what a model consists of. */
export function summarise(model: Model): ModelSummary {
  const { trainer, normaliser, pieces } = model;
  const { addDummyPrefix, removeExtraWhitespaces, escapeWhitespaces } = normaliser;
  const { whitespaceAsSuffix, byteFallback } = trainer;
  const byKind = { normal: 0, unknown: 0, control: 0, user: 0, unused: 0, byte: 0 };
  for (const piece of pieces) byKind[piece.kind]++;
  return {
    type: trainer.kind,
    pieces: pieces.length,
    byKind,
    normalisation: normaliser.name || "identity",
    ruleBytes: normaliser.charsmap.length,
    flags: { addDummyPrefix, removeExtraWhitespaces, escapeWhitespaces, whitespaceAsSuffix, byteFallback },
    special: specials(model),
    pieceLength: lengths(model),
    userSymbols: pieces.filter((piece) => piece.kind === "user").map((piece) => piece.text),
    controlSymbols: pieces.flatMap(({ kind, text }, id) => (kind === "control" ? [{ id, piece: text }] : [])),
    samples: samples(model),
  };
}

function specials({ pieces, trainer }: Model): ModelSummary["special"] {
  const found: ModelSummary["special"] = {};
  const unknown = pieces.findIndex((piece) => piece.kind === "unknown");
  found.unknown = { id: unknown, piece: pieces[unknown]!.text };
  const named = { pad: trainer.padPiece, bos: trainer.bosPiece, eos: trainer.eosPiece };
  for (const [name, text] of Object.entries(named)) {
    const id = pieces.findIndex((piece) => piece.kind === "control" && piece.text === text);
    if (id >= 0) found[name] = { id, piece: text };
  }
  return found;
}

function lengths({ pieces }: Model): ModelSummary["pieceLength"] {
  const histogram: Record<number, number> = {};
  let count = 0;
  let sum = 0;
  let longest = 0;
  for (const piece of pieces) {
    if (piece.kind !== "normal") continue;
    const length = [...piece.text].length;
    histogram[length] = (histogram[length] ?? 0) + 1;
    longest = Math.max(longest, length);
    sum += length;
    count++;
  }
  return { mean: count === 0 ? 0 : sum / count, longest, histogram };
}

/** Normal pieces spread evenly over the vocabulary. */
function samples({ pieces }: Model): ModelSummary["samples"] {
  const normal = pieces.flatMap((piece, id) =>
    piece.kind === "normal" ? [{ id, piece: piece.text, score: piece.score }] : [],
  );
  const step = Math.max(1, Math.floor(normal.length / SAMPLES));
  return normal.filter((_, i) => i % step === 0).slice(0, SAMPLES);
}

/** A summary as two tables: its properties, and some pieces. */
export function summaryText(summary: ModelSummary): string {
  const named = (record: Record<string, boolean>) => Object.keys(record).filter((key) => record[key]);
  const kinds = Object.entries(summary.byKind).filter(([, count]) => count > 0);
  const { mean, longest } = summary.pieceLength;
  const rows = [
    ["type", summary.type],
    [
      "pieces",
      `${formatNumber(summary.pieces)} (${kinds.map(([kind, count]) => `${formatNumber(count)} ${kind}`).join(", ")})`,
    ],
    ["normalisation", `${summary.normalisation} (${formatNumber(summary.ruleBytes)} bytes of rules)`],
    ["flags", named(summary.flags).join(", ") || "none"],
    [
      "special ids",
      Object.entries(summary.special)
        .map(([name, { id, piece }]) => `${name} ${id} ${piece}`)
        .join(", "),
    ],
    ["control", summary.controlSymbols.map(({ id, piece }) => `${id} ${piece}`).join(", ") || "none"],
    ["symbols", summary.userSymbols.join(" ") || "none"],
    ["piece length", `${mean.toFixed(2)} characters on average, ${longest} at most`],
  ].map(([property, value]) => ({ property: property!, value: value! }));
  const samples = summary.samples.map(({ id, piece, score }) => ({ id, piece, score: Number(score.toFixed(3)) }));
  return `${table(rows)}\n\n${table(samples)}`;
}
