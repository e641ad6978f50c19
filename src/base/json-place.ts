/** Where things stand in JSON text: the line of a value by its path, and the line at which text stops being JSON. */

/** The name of a member, or its place in a list. */
export type JsonKey = string | number;

const SPACE = /[ \t\r\n]*/y;
/** All from the space on, but quotes and backslashes, which are escaped. */
const STRING = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[ !#-[\]-\uffff]*)*"/y;
const PLAIN = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** Thrown where text is no JSON. */
class Broken extends Error {
  readonly at: number;

  constructor(at: number) {
    super(`no JSON at ${at}`);
    this.at = at;
  }
}

/** The line, from 1, of the value below a path of keys, in text that is JSON; of the innermost one that is there. */
export function jsonLine(text: string, path: readonly JsonKey[]): number {
  let at = after(SPACE, text, 0);
  for (const key of path) {
    const inside = "{[".includes(text[at]!) ? [...members(text, at)] : [];
    const found = inside.find((member) => member.key === key);
    if (!found) break;
    at = found.at;
  }
  return lineAt(text, at);
}

/** The line, from 1, at which text stops being JSON; undefined where it is JSON. */
export function brokenJsonLine(text: string): number | undefined {
  try {
    const end = after(SPACE, text, ended(text, after(SPACE, text, 0)));
    return end < text.length ? lineAt(text, end) : undefined;
  } catch (error) {
    if (error instanceof Broken) return lineAt(text, error.at);
    // Nested too deeply to be followed.
    return 1;
  }
}

const lineAt = (text: string, at: number) => text.slice(0, at).split("\n").length;

/** The members of the object or list that begins at `start`; comes to the place behind it. */
function* members(text: string, start: number): Generator<{ key: JsonKey; at: number }, number> {
  const named = text[start] === "{";
  const close = named ? "}" : "]";
  let at = after(SPACE, text, start + 1);
  for (let i = 0; text[at] !== close || i > 0; i++) {
    const key = named ? after(STRING, text, at) : at;
    const value = named ? behind(":", text, key) : at;
    yield { key: named ? (JSON.parse(text.slice(at, key)) as string) : i, at: value };
    at = after(SPACE, text, ended(text, value));
    if (text[at] === close) break;
    at = behind(",", text, at);
  }
  return at + 1;
}

/** The place behind the value that begins at `at`. */
function ended(text: string, at: number): number {
  if (text[at] === '"') return after(STRING, text, at);
  if (text[at] !== "{" && text[at] !== "[") return after(PLAIN, text, at);
  const inside = members(text, at);
  let step = inside.next();
  while (!step.done) step = inside.next();
  return step.value;
}

function after(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  if (!pattern.test(text)) throw new Broken(at);
  return pattern.lastIndex;
}

/** Behind a mark, which may have space around it. */
function behind(mark: string, text: string, at: number): number {
  const found = after(SPACE, text, at);
  if (text[found] !== mark) throw new Broken(found);
  return after(SPACE, text, found + 1);
}
