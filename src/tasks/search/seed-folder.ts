/** How a search from several seeds is known by its folder; light, so that any command may ask. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Of folders of version 0.1.0: settings, seeds, threads. */
export const SEEDS_FILE = "seeds.json";
const SWEEP_FILE = "sweep.yaml";

/** Whether a folder is a sweep of a search over seeds alone, or one of version 0.1.0. */
export function isSeedFolder(path: string): boolean {
  if (existsSync(join(path, SEEDS_FILE))) return true;
  const file = join(path, SWEEP_FILE);
  if (!existsSync(file)) return false;
  const text = readFileSync(file, "utf8");
  return /^task: search$/m.test(text) && !/^(vary|candidates):/m.test(text);
}

/** The run of one seed. */
export const seedRun = (path: string, seed: number): string => join(path, `seed-${seed}`);
