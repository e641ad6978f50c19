/** Finds a key that a JSON object holds twice, which `JSON.parse` would pass over in silence. */

export interface RepeatedKey {
  key: string;
  /** Offset in the text. */
  at: number;
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g;

/** How many keys stand in `text`, which must be valid JSON: a fast way to see that none can be repeated. */
export function countKeys(text: string): number {
  let keys = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) {
    do at = text.indexOf('"', at + 1);
    while (isEscaped(text, at));
    let next = at + 1;
    while (text.charCodeAt(next) <= 32) next++;
    if (text[next] === ":") keys++;
  }
  return keys;
}

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === "\\") before--;
  return (at - before) % 2 === 1;
}

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
