/** A tokenizer for tests of masked text: special pieces first, and every other piece begins a word. */
import type { PieceTokenizer } from "./documents.ts";

const NAMES = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"];

/** With so many pieces. */
export const numberedPieces = (size: number): PieceTokenizer => ({
  size,
  encode: () => new Int32Array(),
  encodePieces: () => [],
  pieceOf: (id) => NAMES[id] ?? "▁x",
  idOf: (piece) => NAMES.indexOf(piece),
});
