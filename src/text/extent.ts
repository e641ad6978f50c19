/** How much a line of text is: words as white space separates them, and bytes of UTF-8. Counted without making anything of it. */

/** What `\s` matches beyond ASCII. */
const isWideSpace = (unit: number): boolean =>
  unit === 0xa0 ||
  unit === 0x1680 ||
  (unit >= 0x2000 && unit <= 0x200a) ||
  unit === 0x2028 ||
  unit === 0x2029 ||
  unit === 0x202f ||
  unit === 0x205f ||
  unit === 0x3000 ||
  unit === 0xfeff;

/** As many as `/\S+/g` finds. */
export function wordsIn(line: string): number {
  let words = 0;
  let inside = false;
  for (let i = 0; i < line.length; i++) {
    const unit = line.charCodeAt(i);
    const isSpace = unit < 0x80 ? unit === 32 || (unit >= 9 && unit <= 13) : unit >= 0xa0 && isWideSpace(unit);
    if (!isSpace && !inside) words++;
    inside = !isSpace;
  }
  return words;
}

/** Bytes of a line in UTF-8; half of a surrogate pair takes three, as where it is replaced. */
export function bytesIn(line: string): number {
  let bytes = line.length;
  for (let i = 0; i < line.length; i++) {
    const unit = line.charCodeAt(i);
    if (unit < 0x80) continue;
    bytes += unit < 0x800 ? 1 : 2;
    if ((unit & 0xfc00) === 0xd800 && (line.charCodeAt(i + 1) & 0xfc00) === 0xdc00) i++; // two units, four bytes
  }
  return bytes;
}
