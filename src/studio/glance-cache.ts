/** What was seen of runs, kept in the user's cache from one studio to the next: a run whose files have not changed is not opened again. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { sha256, writeAtomically } from "../files/index.ts";
import type { RunGlance } from "../runs/index.ts";
import { packageVersion, type StoredReport } from "../tasks/index.ts";

/** Raised when what is kept changes its meaning. */
const FORMAT = 1;
/** Changes are written together. */
const DELAY_MS = 3000;

/** The studio's file for a folder of runs, in the user's cache. */
export function cacheFile(folder: string, ending: string): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 32);
  return join(cache, "layerwise", "studio", `${name}.${ending}`);
}

/** A run as it was seen, by what its files were then. */
interface Seen {
  /** Sizes and times of its files. */
  readonly stamp: string;
  readonly glance: RunGlance;
  readonly report: StoredReport | undefined;
}

interface Kept {
  readonly made: string;
  readonly runs: Readonly<Record<string, Seen>>;
}

const made = () => `${FORMAT} ${packageVersion()}`;

/** The cache of one folder. It is only ever a shortcut: what cannot be read, or written, is worked out again. */
export class GlanceCache {
  readonly #file: string;
  readonly #seen: Map<string, Seen>;
  #timer: NodeJS.Timeout | undefined;

  constructor(folder: string) {
    this.#file = cacheFile(folder, "runs.json");
    this.#seen = new Map(Object.entries(kept(this.#file)));
  }

  /** What is known of a run, if its files are still the same. */
  find(path: string, stamp: string): Seen | undefined {
    const seen = this.#seen.get(path);
    return seen?.stamp === stamp ? seen : undefined;
  }

  /** Remembers a run; one that is being trained changes too often to be worth it. */
  keep(path: string, seen: Seen): void {
    if (seen.glance.status === "running") return;
    this.#seen.set(path, seen);
    this.#changed();
  }

  /** Adds what a model stores and costs. */
  report(path: string, report: StoredReport): void {
    const seen = this.#seen.get(path);
    if (!seen) return;
    this.#seen.set(path, { ...seen, report });
    this.#changed();
  }

  forget(path: string): void {
    if (this.#seen.delete(path)) this.#changed();
  }

  #changed(): void {
    this.#timer ??= setTimeout(() => void this.flush(), DELAY_MS).unref();
  }

  /** Writes what has changed. */
  async flush(): Promise<void> {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = JSON.stringify({ made: made(), runs: Object.fromEntries(this.#seen) } satisfies Kept);
    try {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      await writeAtomically(this.#file, `${sha256(text)}\n${text}`);
    } catch {
      // a cache that cannot be written is none
    }
  }
}

function kept(file: string): Kept["runs"] {
  try {
    const [seal, text = ""] = readFileSync(file, "utf8").split("\n", 2);
    const found = sha256(text) === seal ? (JSON.parse(text) as Kept) : undefined;
    return found?.made === made() ? found.runs : {};
  } catch {
    return {};
  }
}
