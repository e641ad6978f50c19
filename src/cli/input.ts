/** Texts that a command is given: files by name, or its standard input. */
import { readFile } from "node:fs/promises";
import { LayerwiseError, messageOf, reject } from "../base/index.ts";
import type { PlainText, TextColumns } from "../text/index.ts";

/** Everything on standard input. */
export async function readInput(): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of process.stdin) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString("utf8");
}

/** The text of a file; one that cannot be read ends `command` with this exit code. */
export async function readText(file: string, command: string, exitCode: 1 | 2 = 2): Promise<string> {
  return readFile(file, "utf8").catch((error: unknown) => {
    throw new LayerwiseError(`${command}: cannot read ${file}: ${messageOf(error)}`, exitCode);
  });
}

/** The lines of a text; one at its end that is empty does not count. */
export const linesIn = (text: string) => text.replace(/\r?\n$/, "").split(/\r?\n/);

/** Which columns of a table hold texts. */
export interface TableColumns extends Pick<TextColumns, "text" | "pair"> {
  readonly pairs?: boolean | undefined;
  readonly header?: boolean | undefined;
}

/** Texts of a table (.tsv, .csv, .jsonl), or lines of any other file or of standard input: a text each, or two with a tab between. */
export async function textsFrom(
  file: string | undefined,
  command: string,
  columns: TableColumns,
): Promise<readonly PlainText[]> {
  const { readTexts, tableFormOf } = await import("../text/index.ts");
  const named = file === "-" ? undefined : file;
  if (named !== undefined && tableFormOf(named) !== undefined) return readTexts(named, columns);
  const text = named === undefined ? await readInput() : await readText(named, command, 1);
  const source = named ?? "standard input";
  return linesIn(text).map((line, i) => plainText(line, `${source}: line ${i + 1}`));
}

/** A line as a text, or as two with a tab between. */
export function plainText(line: string, who: string): PlainText {
  const [text = "", pair, ...more] = line.split("\t");
  if (text.trim() === "" || pair?.trim() === "") reject({ who, needed: "a text", got: "an empty one" });
  if (more.length > 0) reject({ who, needed: "a text, or two with a tab between", got: `${more.length + 2} columns` });
  return pair === undefined ? { text } : { text, pair };
}
