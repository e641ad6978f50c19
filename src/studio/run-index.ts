/** The runs below a folder: found by looking, named by ids, known at a glance, looked at again only where their files changed. */
import { createHash } from "node:crypto";
import { type Dirent, existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import { messageOf } from "../base/errors.ts";
import { EVENTS_FILE, glanceAt, LOCK_FILE, leaves, type RunGlance } from "../runs/index.ts";
import { isSeedFolder, kindIn, type StoredReport as Report } from "../tasks/index.ts";
import type { BestFigure, RunId, RunRow, Status, Use } from "./api.ts";
import { GlanceCache } from "./glance-cache.ts";
import { Refusal } from "./refusal.ts";

/** The file in a run folder that holds its note. */
export const NOTE_FILE = "note.txt";
const CONFIG = "config.yaml";
const FOUND = "architecture.json";
const [SWEEP, TRIALS] = ["sweep.yaml", "trials"];
/** Folders below folders, and folders in all, that are looked at. */
const [DEEPEST, MOST] = [8, 20_000];
/** Runs that are opened at a time. */
const AT_ONCE = 16;

/** A folder of the index. */
export interface Entry {
  readonly id: RunId;
  /** On this machine. */
  readonly path: string;
  readonly row: RunRow;
  /** Undefined of folders that cannot be read, or hold several runs. */
  readonly glance: RunGlance | undefined;
}

interface Place {
  readonly path: string;
  readonly parent: RunId | null;
  readonly what: "run" | "seeds" | "foreign";
  /** Changes with the files that a row is made from. */
  readonly stamp: string;
  readonly changedMs: number;
}

/** The folder of a sweep, and when a round or a trial of it last began or ended. */
export interface SweepPlace {
  readonly path: string;
  readonly changedMs: number;
}

const order = new Intl.Collator("en", { numeric: true });

/** Names a folder by its path below the studio's. */
export const idOf = (path: string): RunId => createHash("sha256").update(path).digest("hex").slice(0, 12);

/** The index of a folder. */
export class RunIndex {
  readonly folder: string;
  /** The folder as the user named it. */
  readonly shown: string;
  truncated = false;
  /** When all runs had been seen for the first time; undefined before. */
  completeMs: number | undefined;
  #entries = new Map<RunId, Entry>();
  readonly #stamps = new Map<RunId, string>();
  readonly #reports = new Map<RunId, Report>();
  readonly #cache: GlanceCache;
  #refreshing: Promise<void> | undefined;
  #sweeps: ReadonlyMap<RunId, SweepPlace> = new Map();
  /** All rows in their order, until one changes. */
  #rows: readonly RunRow[] | undefined;

  constructor(folder: string) {
    this.shown = folder;
    this.folder = existsSync(folder) ? realpathSync(folder) : folder;
    this.#cache = new GlanceCache(this.folder);
  }

  /** Writes what it has seen, for the next one. */
  close(): Promise<void> {
    return this.#cache.flush();
  }

  /** All rows, in the order of their paths; numbers in names count as numbers. */
  get rows(): readonly RunRow[] {
    this.#rows ??= [...this.#entries.values()].map(({ row }) => row).sort((a, b) => order.compare(a.path, b.path));
    return this.#rows;
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  get entries(): Iterable<Entry> {
    return this.#entries.values();
  }

  /** The runs of a folder of seeds. */
  below(id: RunId): Entry[] {
    return [...this.#entries.values()].filter(({ row }) => row.parent === id);
  }

  /** Folders of sweeps by their ids. */
  get sweeps(): ReadonlyMap<RunId, SweepPlace> {
    return this.#sweeps;
  }

  /** A folder by its id, the only name that requests have for it. */
  entry(id: string): Entry {
    const found = this.#entries.get(id);
    if (!found) throw new Refusal(404, "not-found", "no such run; it may have been moved or deleted");
    return found;
  }

  /** A run that can be read. */
  run(id: string): Entry & { readonly glance: RunGlance } {
    const { glance, ...entry } = this.entry(id);
    if (!glance) throw new Refusal(409, "conflict", `${entry.row.path}: ${entry.row.fault ?? "not a single run"}`);
    return { ...entry, glance };
  }

  /** Below the studio's folder, with `/`. */
  relative(path: string): string {
    return relative(this.folder, path).split(sep).join("/") || ".";
  }

  /** Says what a model is, once it is known. */
  report(id: RunId, report: Report): void {
    this.#reports.set(id, report);
    const entry = this.#entries.get(id);
    if (!entry) return;
    this.#entries.set(id, { ...entry, row: { ...entry.row, ...shown(report) } });
    this.#cache.report(entry.row.path, report);
    this.#rows = undefined;
  }

  /** What is known of a model. */
  reportOf(id: RunId): Report | undefined {
    return this.#reports.get(id);
  }

  /** Looks again; two who ask at once are answered by one look. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#look().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #look(): Promise<void> {
    const places = new Map(this.#places().map((place) => [idOf(this.relative(place.path)), place]));
    for (const id of this.#entries.keys()) if (!places.has(id)) this.#forget(id);
    const changed = [...places].filter(([id, { stamp }]) => this.#stamps.get(id) !== stamp || this.#runs(id));
    const unknown = changed.filter(([id, place]) => !this.#recall(id, place));
    unknown.sort(([, a], [, b]) => b.changedMs - a.changedMs); // the newest are wanted first
    for (let i = 0; i < unknown.length; i += AT_ONCE) {
      await Promise.all(unknown.slice(i, i + AT_ONCE).map(([id, place]) => this.#see(id, place)));
    }
    this.completeMs ??= Date.now();
    for (const [id, place] of places) if (place.what === "seeds") this.#put(id, place, this.#seedsRow(id, place));
  }

  /** A lock outlives a process that was killed, so running runs are asked again. */
  #runs(id: RunId): boolean {
    return this.#entries.get(id)?.row.status === "running";
  }

  #forget(id: RunId): void {
    this.#rows = undefined;
    this.#cache.forget(this.entry(id).row.path);
    this.#entries.delete(id);
    this.#stamps.delete(id);
    this.#reports.delete(id);
  }

  #put(id: RunId, { path, stamp }: Place, row: RunRow, glance?: RunGlance): void {
    this.#entries.set(id, { id, path, row, glance });
    this.#stamps.set(id, stamp);
    this.#rows = undefined;
  }

  async #see(id: RunId, place: Place): Promise<void> {
    if (place.what === "seeds") return;
    if (place.what === "foreign")
      return this.#put(id, place, this.#poorRow(id, place, "foreign", "not a run: it has no config.yaml"));
    try {
      const glance = await glanceAt(place.path);
      this.#take(id, place, glance);
      this.#cache.keep(this.relative(place.path), { stamp: place.stamp, glance, report: this.#reports.get(id) });
    } catch (error) {
      if (existsSync(place.path)) this.#put(id, place, this.#poorRow(id, place, "damaged", messageOf(error)));
    }
  }

  /** A run that has not changed since a studio saw it. */
  #recall(id: RunId, place: Place): boolean {
    if (place.what !== "run" || this.#entries.has(id)) return false;
    const seen = this.#cache.find(this.relative(place.path), place.stamp);
    if (!seen) return false;
    if (seen.report) this.#reports.set(id, seen.report);
    this.#take(id, place, seen.glance);
    return true;
  }

  #take(id: RunId, place: Place, glance: RunGlance): void {
    const row = rowOf(glance, { ...this.#base(id, place), kind: kindIn(glance.config, this.relative(place.path)) });
    this.#put(id, place, { ...row, ...shown(this.#reports.get(id)) }, glance);
  }

  #base(id: RunId, { path, parent }: Place): Base {
    return { id, name: basename(path), path: this.relative(path), parent, note: noteOf(path) };
  }

  #poorRow(id: RunId, place: Place, status: Status, fault: string): RunRow {
    const changedMs = statSync(place.path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return { ...emptyRow, ...this.#base(id, place), status, fault: fault.replaceAll(this.folder, "."), changedMs };
  }

  /** A folder of seeds stands for the seed that was chosen or, until then, for the newest. */
  #seedsRow(id: RunId, place: Place): RunRow {
    const own = [...this.#entries.values()].map(({ row }) => row).filter(({ parent }) => parent === id);
    const newest = own.toSorted((a, b) => b.changedMs - a.changedMs)[0];
    const found = readJson(join(place.path, FOUND)) as { seed?: number } | undefined;
    const chosen = own.find(({ settings }) => settings.seed === found?.seed) ?? newest;
    const running = own.some(({ status }) => status === "running");
    const status = running ? "running" : found ? "finished" : newest?.status === "killed" ? "killed" : "stopped";
    const uses = usesOf("seeds", status, { checkpoint: found !== undefined, config: {} });
    return { ...emptyRow, ...chosen, ...this.#base(id, place), kind: "seeds", status, uses, fault: null };
  }

  #places(): Place[] {
    const found: Place[] = [];
    const sweeps = new Map<RunId, SweepPlace>();
    let left = MOST;
    this.truncated = false;
    const visit = (path: string, depth: number, parent: RunId | null): boolean => {
      if (depth > DEEPEST || left-- <= 0) {
        this.truncated = true;
        return false;
      }
      const entries = list(path);
      const has = (name: string) => entries.some((entry) => entry.name === name);
      if (has(CONFIG)) {
        found.push({ path, parent, what: "run", ...stampOf(path, has) });
        return true;
      }
      const id = isSeedFolder(path) ? idOf(this.relative(path)) : null;
      if (id) found.push({ path, parent, what: "seeds", stamp: "", changedMs: 0 });
      const isSweep = has(SWEEP);
      if (isSweep) sweeps.set(idOf(this.relative(path)), { path, changedMs: sweepChangedMs(path) });
      const isOf = ({ name }: Dirent) => !name.startsWith(".") && (!isSweep || name !== TRIALS); // those are settings
      const folders = entries.filter((entry) => entry.isDirectory() && isOf(entry));
      const below = folders.map((entry) => visit(join(path, entry.name), depth + 1, id));
      if (below.some(Boolean) || id || isSweep) return true;
      const files = entries.some((entry) => entry.isFile() && !entry.name.startsWith("."));
      if (!files || depth === 0) return false;
      found.push({ path, parent, what: "foreign", stamp: "foreign", changedMs: 0 });
      return true;
    };
    visit(this.folder, 0, null);
    this.#sweeps = sweeps;
    return found;
  }
}

type Base = Pick<RunRow, "id" | "name" | "path" | "parent" | "note">;

function list(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return []; // gone, or not for us to read
  }
}

/** Files that a row is made from, the events first. */
const STAMPED = [EVENTS_FILE, "checkpoints", NOTE_FILE, CONFIG, FOUND, LOCK_FILE];

/** Only files that the folder has are asked: most have neither a note nor a lock. */
function stampOf(path: string, has: (name: string) => boolean): Pick<Place, "stamp" | "changedMs"> {
  const stats = STAMPED.map((name) => (has(name) ? statSync(join(path, name), { throwIfNoEntry: false }) : undefined));
  const stamp = stats.map((stat) => (stat ? `${stat.size} ${stat.mtimeMs}` : "")).join("|");
  return { stamp, changedMs: stats[0]?.mtimeMs ?? 0 };
}

function sweepChangedMs(path: string): number {
  const stats = [path, join(path, TRIALS)].map((each) => statSync(each, { throwIfNoEntry: false }));
  return Math.max(...stats.map((stat) => stat?.mtimeMs ?? 0));
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

function noteOf(path: string): string {
  try {
    return readFileSync(join(path, NOTE_FILE), "utf8");
  } catch {
    return "";
  }
}

const emptyRow: RunRow = {
  id: "",
  name: "",
  path: "",
  parent: null,
  kind: null,
  status: "stopped",
  fault: null,
  uses: [],
  settings: {},
  step: 0,
  totalSteps: null,
  epoch: null,
  lastLoss: null,
  best: null,
  tokensPerSecond: null,
  elapsedMs: null,
  parameters: null,
  uniqueBlocks: null,
  executedDepth: null,
  flopsPerToken: null,
  sparkline: [],
  note: "",
  startedMs: null,
  changedMs: 0,
};

function rowOf(glance: RunGlance, base: Base & { readonly kind: string }): RunRow {
  const settings = Object.fromEntries(leaves(glance.config));
  const { status, step, totalSteps, epoch, lastLoss, tokensPerSecond, elapsedMs, parameters } = glance;
  return {
    ...emptyRow,
    ...base,
    status,
    uses: usesOf(base.kind, status, { checkpoint: glance.checkpoints.length > 0, config: glance.config }),
    settings,
    step,
    totalSteps,
    epoch,
    lastLoss,
    best: bestFigure(glance.best),
    tokensPerSecond,
    elapsedMs,
    parameters,
    sparkline: glance.losses,
    startedMs: glance.startedMs,
    changedMs: glance.changedMs,
  };
}

function bestFigure(best: RunGlance["best"]): BestFigure | null {
  if (!best) return null;
  const { step, loss, perplexity, scalars, decisive } = best;
  if (decisive !== undefined) return { name: decisive, value: scalars?.[decisive] ?? null, step, better: "higher" };
  return perplexity === undefined
    ? { name: "loss", value: loss, step, better: "lower" }
    : { name: "perplexity", value: perplexity, step, better: "lower" };
}

/** What kinds of runs can do once they have a checkpoint. */
const modelUses: Readonly<Record<string, readonly Use[]>> = {
  language: ["generate"],
  translate: ["translate"],
  pretrain: ["depth"],
  imported: ["depth"],
  finetune: ["depth", "classify"],
  search: ["generate", "retrain"],
  seeds: ["generate", "retrain"],
  retrain: ["generate"],
};

function usesOf(
  kind: string,
  status: Status,
  { checkpoint, config }: { checkpoint: boolean; config: RunGlance["config"] },
): Use[] {
  const uses: Use[] = checkpoint ? [...(modelUses[kind] ?? [])] : [];
  if (checkpoint && kind === "language" && config.halt === true) uses.push("depth");
  const { maskedLanguage } = (config.heads ?? {}) as { maskedLanguage?: unknown };
  if (checkpoint && maskedLanguage) uses.push("fill");
  if (["search", "seeds", "retrain"].includes(kind)) uses.push("search");
  if (status === "running") uses.push("stop");
  else if (status !== "finished" && kind !== "imported" && kind !== "custom") uses.push("resume");
  return uses;
}

/** Figures of a report that a row has. */
function shown(report: Report | undefined): Partial<RunRow> {
  if (!report) return {};
  const { parameters, uniqueBlocks, executedDepth, flopsPerToken } = report;
  return { parameters, uniqueBlocks, executedDepth, flopsPerToken };
}
