/** Which lines of a program ran, from what V8 counted in its processes. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAst } from "vite";

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** What V8 says of one file: the first range of a function is the function, the others are its branches. */
export interface Counted {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly Range[] }[];
}

/** Places of a file's lines that ran, and of those in functions that were called. */
export interface Ran {
  readonly lines: readonly number[];
  readonly inFunctions: readonly number[];
}

/** Which characters ran: ranges lie inside each other, and the innermost says. */
function painted(length: number, ranges: readonly Range[]): Uint8Array {
  const ran = new Uint8Array(length);
  const outerFirst = ranges.toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  for (const { startOffset, endOffset, count } of outerFirst) ran.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  return ran;
}

/** Lines of which the first character ran; `export` is passed over, for it is the module's and not the function's. */
function linesOf(source: string, ran: Uint8Array): number[] {
  let offset = 0;
  return source.split("\n").flatMap((line, place) => {
    const first = offset + /^\s*(export (default )?)?/.exec(line)![0].length;
    offset += line.length + 1;
    return line.trim() !== "" && ran[first] ? [place] : [];
  });
}

/** Which lines of a file ran. The file has no comments. */
export function linesThatRan(source: string, { functions }: Counted): Ran {
  const every = functions.flatMap(({ ranges }) => ranges);
  const whole = functions.map(({ ranges }) => ranges[0]!);
  return {
    lines: linesOf(source, painted(source.length, every)),
    inFunctions: linesOf(source, painted(source.length, whole)),
  };
}

/** Which lines of a file import or export from another, and which stand inside functions. */
export interface Kinds {
  readonly imports: ReadonlySet<number>;
  readonly functions: ReadonlySet<number>;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly source?: unknown;
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value;

/** The kinds of a file's lines; those of neither kind are its top level: tables, settings, classes. */
export function kindsOf(source: string): Kinds {
  const imports = new Set<number>();
  const functions = new Set<number>();
  const lineAt = (offset: number) => source.slice(0, offset).split("\n").length - 1;
  const mark = (lines: Set<number>, { start, end }: Node) => {
    for (let line = lineAt(start); line <= lineAt(end - 1); line++) lines.add(line);
  };
  const visit = (node: Node): void => {
    if (node.source) mark(imports, node);
    else if (node.type.includes("Function")) mark(functions, node);
    else for (const below of Object.values(node).flat()) if (isNode(below)) visit(below);
  };
  visit(parseAst(source));
  return { imports, functions };
}

/** Lines of a file that are neither blank nor comment. */
export function codeLines(text: string): number {
  let inComment = false;
  return text.split("\n").filter((each) => {
    const line = each.trim();
    const isComment = inComment || line.startsWith("//") || line.startsWith("/*");
    if (isComment) inComment = (inComment || line.startsWith("/*")) && !line.includes("*/");
    return line !== "" && !isComment;
  }).length;
}

const union = (a: readonly number[] = [], b: readonly number[]) => [...new Set([...a, ...b])].sort((x, y) => x - y);

/** Adds what ran elsewhere to what ran. */
export function addRan(all: Map<string, Ran>, file: string, { lines, inFunctions }: Ran): void {
  const before = all.get(file);
  all.set(file, { lines: union(before?.lines, lines), inFunctions: union(before?.inFunctions, inFunctions) });
}

/** What ran below a folder in all processes that left their counts in another. */
export function readCoverage(counts: string, folder: string): Map<string, Ran> {
  const all = new Map<string, Ran>();
  for (const name of readdirSync(counts)) {
    const { result } = JSON.parse(readFileSync(join(counts, name), "utf8")) as { result: Counted[] };
    for (const counted of result) {
      if (!counted.url.startsWith("file:")) continue;
      const path = fileURLToPath(counted.url);
      const file = relative(folder, path);
      if (!file.startsWith("..")) addRan(all, file, linesThatRan(readFileSync(path, "utf8"), counted));
    }
  }
  return all;
}
