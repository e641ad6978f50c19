/** Paragraphs for the terminal. */

/** Words of a paragraph in lines of at most `width` characters, each after `indent`. */
export function wrapped(text: string, width: number, indent = ""): string {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(indent + word);
  }
  return lines.join("\n");
}
