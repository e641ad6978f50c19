/** Run folders that nobody named. */
import { existsSync } from "node:fs";

/** The first of runs/1, runs/2, … (with a prefix: runs/search-1, …) that does not exist. */
export function freeFolder(prefix = ""): string {
  for (let i = 1; ; i++) if (!existsSync(`runs/${prefix}${i}`)) return `runs/${prefix}${i}`;
}
