/** Small text files read whole, text for slow readers, and names in a folder that are not taken. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ExitCode, LayerwiseError, messageOf } from "../base/errors.ts";

/** The text of a file; one that cannot be read is refused in the name of `who`. */
export async function readText(file: string, who: string, exitCode: ExitCode = 2): Promise<string> {
  return readFile(file, "utf8").catch((error: unknown) => {
    throw new LayerwiseError(`${who}: cannot read ${file}: ${messageOf(error)}`, exitCode, { code: "bad-file" });
  });
}

/** The first of the names prefix1, prefix2, … that is free in a folder. */
export function freeName(folder: string, prefix = ""): string {
  for (let i = 1; ; i++) if (!existsSync(join(folder, `${prefix}${i}`))) return `${prefix}${i}`;
}

/** Writes to a stream such as standard output, and waits until its reader has caught up. */
export function writeSlowly(stream: NodeJS.WritableStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (text === "" || stream.write(text)) resolve();
    else stream.once("drain", resolve);
  });
}
