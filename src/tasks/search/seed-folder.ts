/** How a search from several seeds is known by its folder; light, so that any command may ask. */
import { existsSync } from "node:fs";
import { join } from "node:path";

/** What was asked for: settings, seeds, threads. */
export const SEEDS_FILE = "seeds.json";

export const isSeedFolder = (path: string): boolean => existsSync(join(path, SEEDS_FILE));

/** The run of one seed. */
export const seedRun = (path: string, seed: number): string => join(path, `seed-${seed}`);
