/** Texts that a command is given: files by name, or its standard input. */
import type { PlainColumns, PlainText } from "../text/index.ts";

/** Everything on standard input. */
export async function readInput(): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of process.stdin) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString("utf8");
}

/** Texts of a file, or lines of standard input. */
export async function textsFrom(
  file: string | undefined,
  command: string,
  columns: PlainColumns,
): Promise<readonly PlainText[]> {
  const { plainTexts, textsIn } = await import("../text/index.ts");
  if (file === undefined || file === "-") return plainTexts(await readInput(), "standard input");
  return textsIn(file, command, columns);
}
