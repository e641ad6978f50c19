/** Texts that a command is given: files by name, or its standard input. */
import { readFile } from "node:fs/promises";
import { LayerwiseError, messageOf } from "../base/index.ts";
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
    throw new LayerwiseError(`${command}: cannot read ${file}: ${messageOf(error)}`, exitCode, { code: "bad-file" });
  });
}

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
  const { plainTexts, readTexts, tableFormOf } = await import("../text/index.ts");
  const named = file === "-" ? undefined : file;
  if (named !== undefined && tableFormOf(named) !== undefined) return readTexts(named, columns);
  const text = named === undefined ? await readInput() : await readText(named, command, 1);
  return plainTexts(text, named ?? "standard input");
}
