/** Live updates: one ticker for all pages, which sends each what is new to it, at most four times a second. */
import { join } from "node:path";
import { LOG_FILE } from "../runs/index.ts";
import type { Axis, RunId, RunRow, SearchFrame, Series, Update } from "./api.ts";
import { textFrom } from "./file-text.ts";
import { candidatesOf, frameOf } from "./search-data.ts";
import type { Studio } from "./studio.ts";
import { sweepsIn } from "./sweeps.ts";

const TICK_MS = 250;
/** Folders are looked at every so many ticks. */
const TICKS_A_LOOK = 8;
/** Points of one metric in one message; more are thinned out. */
const POINTS = 200;
/** Ticks between comments that keep a quiet connection open. */
const TICKS_A_BEAT = 60;

/** So long after all runs were found, pages are sent all of them. */
const FRESH_MS = 20_000;

/** What a page wants to know. */
export interface Wanted {
  readonly rows: boolean;
  /** Runs by id, each with the cursor after which it wants to know. */
  readonly runs: ReadonlyMap<RunId, string | undefined>;
  /** Undefined: all. */
  readonly metrics: readonly string[] | undefined;
  readonly axis: Axis;
  readonly frames: boolean;
  readonly log: boolean;
}

/** Where an update goes; resolves when the page can take the next. */
export interface Listener {
  send(update: Update): Promise<void>;
  beat(): Promise<void>;
}

/** All pages that listen. */
export class Feed {
  readonly #studio: Studio;
  readonly #pages = new Set<Page>();
  #timer: NodeJS.Timeout | undefined;
  #ticks = 0;
  #busy = false;

  constructor(studio: Studio) {
    this.#studio = studio;
  }

  /** Begins to send; the function ends it. */
  listen(wanted: Wanted, listener: Listener): () => void {
    const page = new Page(this.#studio, wanted, listener);
    this.#pages.add(page);
    this.#timer ??= setInterval(() => void this.#tick(), TICK_MS);
    return () => {
      this.#pages.delete(page);
      if (this.#pages.size === 0) this.close();
    };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Nothing is read while nobody listens; a tick that takes longer than its time is not followed by another at once. */
  async #tick(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    try {
      const beats = ++this.#ticks % TICKS_A_BEAT === 0;
      if (this.#ticks % TICKS_A_LOOK === 0) await this.#studio.look();
      for (const page of this.#pages) page.tick(beats);
    } catch (error) {
      this.#studio.say(`studio: ${error instanceof Error ? error.message : error}`);
    } finally {
      this.#busy = false;
    }
  }
}

/** One page, and what it knows already. */
class Page {
  readonly #studio: Studio;
  readonly #wanted: Wanted;
  readonly #listener: Listener;
  readonly #cursors = new Map<RunId, string>();
  readonly #logs = new Map<RunId, number>();
  #list: readonly RunRow[];
  #rows: ReadonlyMap<RunId, RunRow>;
  #jobs: string;
  #sweeps: string;
  #waiting = false;

  constructor(studio: Studio, wanted: Wanted, listener: Listener) {
    [this.#studio, this.#wanted, this.#listener] = [studio, wanted, listener];
    // A page that came while runs were still being found may lack some.
    const isNew = Date.now() - (studio.index.completeMs ?? Date.now()) < FRESH_MS;
    this.#list = isNew ? [] : studio.index.rows;
    this.#rows = byId(this.#list);
    this.#jobs = JSON.stringify(studio.jobs.states());
    this.#sweeps = JSON.stringify(isNew ? [] : sweepsIn(studio.index));
  }

  /** A page that has not taken the last message waits for the next tick: nothing piles up. */
  tick(beats: boolean): void {
    if (this.#waiting) return;
    const update = this.#update();
    if (Object.keys(update).length === 0 && !beats) return;
    this.#waiting = true;
    const sent = Object.keys(update).length > 0 ? this.#listener.send(update) : this.#listener.beat();
    void sent.finally(() => {
      this.#waiting = false;
    });
  }

  #update(): Update {
    const points: Record<RunId, Record<string, Series>> = {};
    const frames: Record<RunId, SearchFrame[]> = {};
    const log: Record<RunId, string> = {};
    const reset: RunId[] = [];
    for (const id of this.#wanted.runs.keys()) {
      if (!this.#studio.index.has(id)) continue;
      const news = this.#newsOf(id);
      if (news === undefined) reset.push(id);
      else {
        if (Object.keys(news.points).length > 0) points[id] = news.points;
        if (news.frames.length > 0) frames[id] = news.frames;
      }
      const text = this.#wanted.log ? this.#newLog(id) : "";
      if (text !== "") log[id] = text;
    }
    return {
      ...this.#newRows(),
      ...this.#newJobs(),
      ...this.#newSweeps(),
      ...filled({ points, frames, log }),
      ...(reset.length ? { reset } : {}),
    };
  }

  /** Undefined where the run was set back. */
  #newsOf(id: RunId): { points: Record<string, Series>; frames: SearchFrame[] } | undefined {
    const series = this.#studio.series(this.#studio.index.entry(id));
    const known = this.#cursors.get(id) ?? this.#wanted.runs.get(id) ?? series.cursor;
    this.#cursors.set(id, series.cursor);
    if (known === series.cursor) return { points: {}, frames: [] };
    const seen = series.seen(known);
    if (seen === undefined) return undefined;
    const names = this.#wanted.metrics ?? series.names;
    const found = names.map((name) => [name, series.of(name, this.#wanted.axis, { points: POINTS, seen })] as const);
    const candidates = this.#wanted.frames ? candidatesOf(series.evaluations) : [];
    const fresh = this.#wanted.frames ? series.evaluations.filter(({ n }) => n > seen) : [];
    return {
      points: Object.fromEntries(found.filter(([, { x }]) => x.length > 0)),
      frames: fresh.flatMap((each) => frameOf(each, candidates) ?? []),
    };
  }

  #newLog(id: RunId): string {
    const path = join(this.#studio.index.entry(id).path, LOG_FILE);
    const { text, end } = textFrom(path, this.#logs.get(id));
    this.#logs.set(id, end);
    return text;
  }

  #newRows(): Update {
    const list = this.#studio.index.rows;
    if (!this.#wanted.rows || list === this.#list) return {};
    const rows = byId(list);
    this.#list = list;
    const runs = [...rows.values()].filter((row) => !isSame(row, this.#rows.get(row.id)));
    const removed = [...this.#rows.keys()].filter((id) => !rows.has(id));
    this.#rows = rows;
    return { ...(runs.length ? { runs } : {}), ...(removed.length ? { removed } : {}) };
  }

  #newJobs(): Update {
    const jobs = this.#studio.jobs.states();
    const text = JSON.stringify(jobs);
    if (text === this.#jobs) return {};
    this.#jobs = text;
    return { jobs };
  }

  #newSweeps(): Update {
    if (!this.#wanted.rows) return {};
    const sweeps = sweepsIn(this.#studio.index);
    const text = JSON.stringify(sweeps);
    if (text === this.#sweeps) return {};
    this.#sweeps = text;
    return { sweeps };
  }
}

const byId = (rows: readonly RunRow[]): ReadonlyMap<RunId, RunRow> => new Map(rows.map((row) => [row.id, row]));
const isSame = (a: RunRow, b: RunRow | undefined) => a === b || JSON.stringify(a) === JSON.stringify(b);

const filled = (parts: Readonly<Record<string, object>>): Update =>
  Object.fromEntries(Object.entries(parts).filter(([, part]) => Object.keys(part).length > 0));
