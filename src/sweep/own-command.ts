/** This program as scripts for other machines of the cluster call it. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A word of a POSIX shell. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Node and the command's file: a cluster's machines share the disk, and their shells may have another PATH. */
export function ownCommand(): string {
  const bin = fileURLToPath(new URL("../../bin/layerwise.js", import.meta.url));
  return existsSync(bin) ? `${shellWord(process.execPath)} ${shellWord(bin)}` : "layerwise";
}
