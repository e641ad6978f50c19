/** What models store and cost, worked out one after another behind the first view, once for equal settings. */
import { weightShapes } from "../runs/index.ts";
import { type StoredReport as Report, type RunKind, storedReport } from "../tasks/index.ts";
import type { Entry, RunIndex } from "./run-index.ts";

/** Settings that change nothing about a model. */
const NOT_OF_MODELS = new Set(["seed", "steps", "epochs", "minutes", "rate", "warmup", "keep", "checkpointEvery"]);

/** Reports on the runs of an index. */
export class Reports {
  readonly #index: RunIndex;
  readonly #known = new Map<string, Report | undefined>();
  readonly #tried = new Set<string>();
  #busy = false;
  #ended = false;

  constructor(index: RunIndex) {
    this.#index = index;
  }

  /** Works on what is missing, unless it does already. */
  begin(): void {
    if (this.#busy || this.#ended) return;
    this.#busy = true;
    void this.#work().finally(() => {
      this.#busy = false;
    });
  }

  end(): void {
    this.#ended = true;
  }

  async #work(): Promise<void> {
    for (const entry of [...this.#index.entries]) {
      if (this.#ended) return;
      const key = keyOf(entry);
      if (key === undefined || this.#index.reportOf(entry.id) || this.#tried.has(`${entry.id} ${key}`)) continue;
      this.#tried.add(`${entry.id} ${key}`);
      if (!this.#known.has(key)) this.#known.set(key, await reportOn(entry).catch(() => undefined));
      const report = this.#known.get(key);
      if (report) this.#index.report(entry.id, report);
      await new Promise(setImmediate); // requests come first
    }
  }
}

/** The same for models of equal shape; undefined without a checkpoint, which says how large the vocabulary is. */
function keyOf({ row, glance }: Entry): string | undefined {
  if (!glance || row.kind === null || glance.checkpoints.length === 0) return undefined;
  const settings = Object.entries(row.settings).filter(([name]) => !NOT_OF_MODELS.has(name));
  return JSON.stringify([row.kind, row.parameters, settings]);
}

async function reportOn({ glance, row }: Entry): Promise<Report | undefined> {
  const shapes = await weightShapes(glance!);
  return storedReport(glance!.path, row.kind as RunKind, shapes ?? new Map());
}
