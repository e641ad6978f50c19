/** Finds a key that a JSON object holds twice, which `JSON.parse` would pass over in silence. */

export interface RepeatedKey {
  key: string;
  /** Offset in the text. */
  at: number;
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g;

/** The first repeated key of any object in `text`, which must be valid JSON. */
export function repeatedKey(text: string): RepeatedKey | undefined {
  const open: (Set<string> | undefined)[] = [];
  let last: RepeatedKey | undefined;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(undefined);
    else if (token === "}" || token === "]") open.pop();
    else if (token === ":" && last) {
      const keys = open.at(-1)!;
      if (keys.has(last.key)) return last;
      keys.add(last.key);
    } else if (token.startsWith('"')) last = { key: JSON.parse(token), at: index };
  }
  return undefined;
}
