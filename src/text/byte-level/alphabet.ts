/** GPT-2's alphabet: every byte has a character that prints, so that pieces of bytes are text. */

/** Bytes that print stand for themselves; the others are characters from U+0100 on, in their order. */
function printable(): number[] {
  const plain = (byte: number) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173 && byte <= 255);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => (plain(byte) ? byte : next++));
}

/** The character of each byte. */
export const characterOf: readonly string[] = printable().map((code) => String.fromCharCode(code));

const byteOf = new Map(characterOf.map((character, byte) => [character, byte]));
const utf8 = new TextEncoder();

/** The bytes that a piece stands for; of one that is not in the alphabet, as added pieces may be, its own. */
export function bytesOfPiece(piece: string): Uint8Array {
  const bytes = [...piece].map((character) => byteOf.get(character));
  return bytes.includes(undefined) ? utf8.encode(piece) : Uint8Array.from(bytes as number[]);
}
