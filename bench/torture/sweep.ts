/**
 * The sweep: a command is killed at every one of its file operations, before it and in its middle. A chain of kills is one run: killed at
 * the first place that is not covered yet, called again, killed at the next, and at last left in peace and held against its twin.
 * What is covered is written down when its chain has been checked, so that a sweep that was stopped goes on.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RandomStream } from "../../src/base/random.ts";
import { layerwise } from "./process.ts";
import { type Files, filesAt, type Writer } from "./writers.ts";

/** Kills of a chain. */
const MOST_KILLS = 24;
/** A place that was met after certain kills, and cannot be met again by repeating them, is given up. */
const MOST_ATTEMPTS = 3;
const HANGS_MS = 300_000;

/** What is kept of a sweep. */
interface Kept {
  /** The command, so that another one begins anew. */
  readonly command: string;
  readonly outcome: string;
  readonly files: Files;
  /** Places of the undisturbed run. */
  readonly places: readonly string[];
  /** Every place that was met, and the kills by which it was reached. */
  readonly met: Record<string, readonly string[]>;
  covered: string[];
  attempts: Record<string, number>;
  /** Whether all places before operations are done, and those in their middles are next. */
  middles: boolean;
  /** Nothing is left that a run meets before its first kill. */
  begun: boolean;
  kills: number;
  runs: number;
  wrong: number;
  faults: string[];
}

/** What faults.mjs leaves. */
interface Trace {
  readonly places: readonly string[];
  readonly killed: string | null;
}

/** Figures of one command, or of several. */
export interface SweepCounts {
  /** File operations of an undisturbed run, and how many of them it was killed at. */
  readonly operations: number;
  readonly covered: number;
  /** The same of operations that only runs have that were killed before: of resuming, of clearing away. */
  readonly laterOperations: number;
  readonly laterCovered: number;
  /** Places: before each operation, within those that have a middle, after the last. */
  readonly places: number;
  readonly placesCovered: number;
  readonly kills: number;
  readonly runs: number;
  readonly wrong: number;
}

/** Those of one command, with what went wrong and what is left. */
export interface SweepFigures extends SweepCounts {
  readonly faults: readonly string[];
  readonly uncovered: readonly string[];
}

/** A run under way: where, killed at what so far, and which place it is to meet again, if any. */
interface Chain {
  readonly folder: string;
  readonly path: string;
  readonly history: string[];
  readonly target: string | undefined;
}

type Order =
  | { readonly at: string }
  | { readonly covered: readonly string[]; readonly middles: boolean; readonly skip: number };

/** One command's sweep in a folder of its own. */
export class Sweep {
  readonly #name: string;
  readonly #writer: Writer;
  readonly #folder: string;
  readonly #random: RandomStream;
  readonly #chains = new Set<Chain>();
  #kept!: Kept;

  private constructor(name: string, writer: Writer, folder: string, seed: number) {
    this.#name = name;
    this.#writer = writer;
    this.#folder = folder;
    this.#random = new RandomStream(seed, `sweep of ${name}`);
  }

  /** Goes on with a sweep, or begins one with an undisturbed run. */
  static async open(name: string, writer: Writer, folder: string, seed: number): Promise<Sweep> {
    const sweep = new Sweep(name, writer, folder, seed);
    mkdirSync(folder, { recursive: true });
    if (!sweep.#read()) await sweep.#beginAnew();
    return sweep;
  }

  /** How much a further chain would find: the places that are left, shared by the chains under way; those in middles count little. */
  get left(): number {
    const kept = this.#kept;
    if (kept.begun && this.#next() === undefined) {
      if (kept.middles || this.#chains.size > 0) return 0;
      [kept.middles, kept.begun] = [true, false];
    }
    return (Math.max(1, this.#due().length) / (this.#chains.size + 1)) * (kept.middles ? 1e-6 : 1);
  }

  /** One run with its kills; several may be under way. */
  async chain(): Promise<void> {
    const target = this.#kept.begun ? this.#next() : undefined;
    const reached = target ? this.#kept.met[target]! : [];
    const most = reached.length + 1 + this.#random.integer(MOST_KILLS);
    const chain = this.#newChain(target);
    for (;;) {
      const { code, stderr, trace } = await this.#run(chain, this.#order(chain, reached, most));
      this.#meet(trace.places, chain.history);
      if (trace.killed === null || code !== null)
        return this.#commit(chain, code === 0 ? this.#compared(chain) : `exit ${code}: ${stderr.slice(-300)}`);
      chain.history.push(trace.killed);
      if (!this.#writer.isIntact(chain.path, this.#kept.files))
        return this.#commit(chain, "the kill left something that is neither whole nor absent");
    }
  }

  /** Whether all is covered that a run meets before its first kill. */
  #isBegun(): boolean {
    return !this.#due().some((place) => this.#kept.met[place]!.length === 0);
  }

  #newChain(target?: string): Chain {
    const inUse = new Set([...this.#chains].map(({ folder }) => folder));
    let slot = 1;
    while (inUse.has(join(this.#folder, `work-${slot}`))) slot++;
    const folder = join(this.#folder, `work-${slot}`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    const chain = { folder, path: join(folder, "out"), history: [], target };
    this.#chains.add(chain);
    return chain;
  }

  get figures(): SweepFigures {
    const { places, met, covered, kills, runs, wrong, faults } = this.#kept;
    const done = new Set(covered);
    const all = Object.keys(met);
    const uncovered = all.filter((place) => !done.has(place));
    const own = new Set(operationsIn(places));
    const later = operationsIn(all).filter((each) => !own.has(each));
    const killedAt = (each: string) => done.has(each);
    return {
      operations: own.size,
      covered: [...own].filter(killedAt).length,
      laterOperations: later.length,
      laterCovered: later.filter(killedAt).length,
      places: all.length,
      placesCovered: all.length - uncovered.length,
      ...{ kills, runs, wrong, faults, uncovered },
    };
  }

  /** Places that are covered, or were killed at in a chain that is under way. */
  #taken(): Set<string> {
    return new Set([...this.#kept.covered, ...[...this.#chains].flatMap(({ history }) => history)]);
  }

  /** Places of the present pass that were met and are not taken yet. */
  #due(): string[] {
    const [{ met, middles }, taken] = [this.#kept, this.#taken()];
    return Object.keys(met).filter((place) => !taken.has(place) && (middles || !isMiddle(place)));
  }

  /** A place that was met after kills and is not covered yet, the one that takes fewest kills. */
  #next(): string | undefined {
    const { met, attempts } = this.#kept;
    const targets = new Set([...this.#chains].map(({ target }) => target));
    const left = this.#due().filter((place) => !targets.has(place) && (attempts[place] ?? 0) < MOST_ATTEMPTS);
    return left.sort((a, b) => met[a]!.length - met[b]!.length)[0];
  }

  /** Chains that are under way leave places to those that began before them. */
  #order(chain: Chain, reached: readonly string[], most: number): Order | undefined {
    const at = reached[chain.history.length];
    if (at !== undefined) return { at };
    if (chain.history.length >= most) return undefined;
    const skip = Math.max(0, Math.min([...this.#chains].indexOf(chain), this.#due().length - 1));
    return { covered: [...this.#taken()], middles: this.#kept.middles, skip };
  }

  async #run({ folder, path, history }: Chain, order?: Order) {
    const [orderFile, traceFile] = [`${folder}.order.json`, `${folder}.trace.json`];
    writeFileSync(orderFile, JSON.stringify(order ?? {}));
    rmSync(traceFile, { force: true });
    const env = {
      LAYERWISE_CACHE: join(folder, "cache"),
      LAYERWISE_FAULT: "sweep",
      LAYERWISE_FAULT_ORDER: orderFile,
      LAYERWISE_FAULT_TRACE: traceFile,
      LAYERWISE_FAULT_ROOT: folder,
    };
    const args = this.#writer.next(path, history.length > 0);
    const ended = await layerwise(args, { env, killMs: HANGS_MS, program: this.#writer.program });
    const trace: Trace = existsSync(traceFile)
      ? JSON.parse(readFileSync(traceFile, "utf8"))
      : { places: [], killed: null };
    return { ...ended, trace };
  }

  #meet(places: readonly string[], history: readonly string[]): void {
    const { met } = this.#kept;
    for (const place of places) {
      const reached = Object.hasOwn(met, place) ? met[place]! : undefined;
      if (reached === undefined || history.length < reached.length) met[place] = [...history];
    }
  }

  #compared({ path }: Chain): string | undefined {
    return this.#writer.outcome(path) === this.#kept.outcome ? undefined : "it ended otherwise than its twin";
  }

  #commit(chain: Chain, wrong: string | undefined): void {
    const [kept, { history, target }] = [this.#kept, chain];
    this.#chains.delete(chain);
    kept.covered = [...new Set([...kept.covered, ...history])];
    if (history.length === 0) kept.begun = this.#isBegun();
    if (target) kept.attempts[target] = (kept.attempts[target] ?? 0) + 1;
    kept.kills += history.length;
    kept.runs++;
    if (wrong) {
      kept.wrong++;
      kept.faults.push(`${this.#name}: ${history.join("; ")}: ${wrong}`);
    }
    this.#write();
  }

  async #beginAnew(): Promise<void> {
    const source = join(this.#folder, "source");
    rmSync(source, { recursive: true, force: true });
    const made = this.#writer.source && (await layerwise(this.#writer.source(source), { env: {} }));
    if (made && made.code !== 0) throw new Error(`${this.#name}: its input: ${made.stderr.slice(-500)}`);
    const chain = this.#newChain();
    const { code, stderr, trace } = await this.#run(chain);
    this.#chains.delete(chain);
    if (code !== 0) throw new Error(`the twin of ${this.#name} ended with ${code}: ${stderr.slice(-500)}`);
    this.#kept = {
      command: this.#command(),
      outcome: this.#writer.outcome(chain.path),
      files: filesAt(chain.path),
      places: trace.places,
      met: Object.fromEntries(trace.places.map((place) => [place, []])),
      ...{ covered: [], attempts: {}, middles: false, begun: false, kills: 0, runs: 0, wrong: 0, faults: [] },
    };
    this.#write();
  }

  #command(): string {
    return JSON.stringify(this.#writer.next("path", false));
  }

  #read(): boolean {
    const file = join(this.#folder, "sweep.json");
    if (!existsSync(file)) return false;
    this.#kept = JSON.parse(readFileSync(file, "utf8"));
    return this.#kept.command === this.#command();
  }

  #write(): void {
    const file = join(this.#folder, "sweep.json");
    writeFileSync(`${file}.tmp`, JSON.stringify(this.#kept));
    renameSync(`${file}.tmp`, file);
  }
}

const AFTER_ALL = "the last";
const isMiddle = (place: string) => /: (empty|half)$/.test(place);

/** Places before an operation, by which it is called. */
const operationsIn = (places: readonly string[]): string[] =>
  places.filter((place) => place !== AFTER_ALL && !isMiddle(place));

/** Runs chains, so many at a time, where most places are left, until all is covered or time is over; `tell` is called after each. */
export async function sweepAll(
  sweeps: readonly Sweep[],
  workers: number,
  isOver: () => boolean,
  tell: () => void,
): Promise<void> {
  const busy = new Set<Promise<void>>();
  for (;;) {
    const [next] = isOver() ? [] : sweeps.filter(({ left }) => left > 0).sort((a, b) => b.left - a.left);
    if (!next && busy.size === 0) return;
    if (next && busy.size < workers) {
      const chain = next.chain().then(tell);
      busy.add(chain);
      chain.finally(() => busy.delete(chain));
    } else await Promise.race(busy);
  }
}

/** Figures of several commands together. */
export function totalOf(all: readonly SweepCounts[]): SweepCounts {
  const sum = (key: keyof SweepCounts) => all.reduce((total, each) => total + each[key], 0);
  return {
    operations: sum("operations"),
    covered: sum("covered"),
    laterOperations: sum("laterOperations"),
    laterCovered: sum("laterCovered"),
    places: sum("places"),
    placesCovered: sum("placesCovered"),
    kills: sum("kills"),
    runs: sum("runs"),
    wrong: sum("wrong"),
  };
}

/** The figures in words, on a line. */
export function inWords(name: string, found: SweepCounts): string {
  const own = `${found.covered} of ${found.operations} file operations killed at`;
  const later = `${found.laterCovered} of ${found.laterOperations} more that only runs have that were killed before`;
  const places = `${found.placesCovered} of ${found.places} places`;
  return `${name}: ${own}, ${later} (${places}); ${found.kills} kills in ${found.runs} runs, ${found.wrong} wrong`;
}
