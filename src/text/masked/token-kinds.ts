/** What a token of a masked text is: the kinds by which depth is told apart. */
import type { SpecialIds } from "./documents.ts";
import type { PretrainingBatch } from "./examples.ts";

/** In the order of the table. `unmasked` is whatever does not show [MASK]; the three [MASK/…] kinds are the places to predict. */
export const TOKEN_KINDS = [
  "all",
  "unmasked",
  "[MASK/MASK]",
  "[MASK/random]",
  "[MASK/original]",
  "[CLS]",
  "[SEP]",
] as const;
/** One of `TOKEN_KINDS`. */
export type TokenKind = (typeof TOKEN_KINDS)[number];

/** The kinds of the token `id`; `label` is what is to be predicted in its place, if anything. A shown mask is never random. */
export function kindsOf(id: number, label: number | undefined, { cls, sep, mask }: SpecialIds): TokenKind[] {
  const kinds: TokenKind[] = ["all"];
  if (id !== mask) kinds.push("unmasked");
  if (label !== undefined) kinds.push(id === mask ? "[MASK/MASK]" : id === label ? "[MASK/original]" : "[MASK/random]");
  else if (id === cls) kinds.push("[CLS]");
  else if (id === sep) kinds.push("[SEP]");
  return kinds;
}

/** Calls back with the flat place and the kinds of every token of a batch that is not padding. */
export function eachToken(
  { rows, inputIds, inputMask, maskedPositions, maskedIds, maskedWeights }: PretrainingBatch,
  special: SpecialIds,
  see: (place: number, kinds: TokenKind[]) => void,
): void {
  const [length, slots] = [inputIds.length / rows, maskedPositions.length / rows];
  for (let row = 0; row < rows; row++) {
    const labels = new Map<number, number>();
    for (let k = row * slots; k < (row + 1) * slots; k++) {
      if (maskedWeights[k]) labels.set(maskedPositions[k]!, maskedIds[k]!);
    }
    for (let at = 0; at < length; at++) {
      const place = row * length + at;
      if (inputMask[place]) see(place, kindsOf(inputIds[place]!, labels.get(at), special));
    }
  }
}
