/** UTF-8 as SentencePiece reads it: one replacement character for each byte that starts no valid sequence. */

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** U+2581, which stands for a space inside pieces, and its three bytes. */
export const SPACE_MARK = "\u2581";
export const SPACE_MARK_BYTES: readonly [number, number, number] = [0xe2, 0x96, 0x81];
export const SPACE = 0x20;
export const REPLACEMENT_BYTES = Uint8Array.of(0xef, 0xbf, 0xbd);

export function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

export function toText(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Length of the character that `lead` announces; 1 for a continuation byte. */
export function characterLength(lead: number): number {
  if (lead < 0xc0) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Length of the valid character at `at`, or 0: overlong forms, surrogates and numbers above U+10FFFF are invalid. */
export function validLength(bytes: Uint8Array, at: number, end: number): number {
  const lead = bytes[at]!;
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const length = characterLength(lead);
  if (at + length > end) return 0;
  for (let i = 1; i < length; i++) if (!isContinuation(bytes[at + i])) return 0;
  const second = bytes[at + 1]!;
  if (lead === 0xe0 && second < 0xa0) return 0;
  if (lead === 0xed && second > 0x9f) return 0;
  if (lead === 0xf0 && second < 0x90) return 0;
  if (lead === 0xf4 && second > 0x8f) return 0;
  return length;
}

/** Bytes to text with one U+FFFD for each byte that starts no valid character. */
export function toTextBytewise(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const length = validLength(bytes, at, bytes.length);
    text += length === 0 ? "\ufffd" : toText(bytes.subarray(at, at + length));
    at += Math.max(length, 1);
  }
  return text;
}
