/** The run folder: config and environment first, then events, a log in words, TensorBoard files and checkpoints. */
import { appendFileSync, closeSync, existsSync, fsyncSync, openSync, readdirSync, statSync } from "node:fs";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { reject, rejectOption } from "../base/errors.ts";
import { writeAtomically } from "../files/atomic.ts";
import { sha256 } from "../files/checksum.ts";
import { readLines } from "../files/lines.ts";
import { type Lock, lockHolder, takeLock } from "../files/lock.ts";
import type { TrainEvent, TrainState } from "../train/events.ts";
import {
  type CheckpointPlace,
  type LoadedCheckpoint,
  listCheckpoints,
  prune,
  readCheckpoint,
  readNewest,
  recover,
  removeAfter,
  writeCheckpoint,
} from "./checkpoints.ts";
import {
  decodeEvents,
  type EventLog,
  encodeEvent,
  encodeEvents,
  eventsUpTo,
  type LoggedEvent,
  type StoredEvent,
} from "./event-log.ts";
import { writeFault } from "./faults.ts";
import {
  heldConfig,
  IDENTITY_FILE,
  newIdentity,
  type RunChange,
  type RunIdentity,
  readIdentity,
  writeIdentity,
} from "./identity.ts";
import { RunJournal } from "./journal.ts";
import { TensorBoardLog } from "./tensorboard.ts";
import { type Drawing, shownSettings } from "./tensorboard-tags.ts";

const CONFIG = "config.yaml";
const ENVIRONMENT = "environment.json";
/** Events, one a line. */
const EVENTS = "events.jsonl";
/** The log in words. */
const LOG = "log.txt";
/** The lock of the process that trains. */
const LOCK = "lock";
const CHECKPOINTS = "checkpoints";
const TENSORBOARD = "tensorboard";
/** Files that tasks keep beside the config. */
export const TOKENIZER_FILE = "tokenizer.model";
export const COSTS_FILE = "costs.json";
const RUN_FILES = [TOKENIZER_FILE, COSTS_FILE];

/** Names of files, for those who only look. */
export { EVENTS as EVENTS_FILE, LOCK as LOCK_FILE, LOG as LOG_FILE };

const FLUSH_MS = 1000;

/** What a run is made of: the resolved config as YAML text, the versions and machine it runs on, and files that it needs. */
export interface RunContent {
  readonly config: string;
  readonly environment: Readonly<Record<string, unknown>>;
  /** Such as the tokenizer's model, by file name: they are there before the config is. */
  readonly files?: Readonly<Record<string, Uint8Array | string>>;
  /** A hash of the text it learns from; null where only a program knows it. */
  readonly text?: string | null | undefined;
}

/** A run's content as it lies in its folder. */
interface FoundContent extends RunContent {
  readonly identity: RunIdentity | undefined;
  readonly warnings: readonly string[];
}

/** A change to a run: its config and text from now on, and in which settings the config differs. */
export type Changed = Pick<RunChange, "step" | "set"> & { readonly config: string; readonly text: string | null };

/** What a run folder keeps. */
export interface RunOptions {
  /** Checkpoints to keep, besides the best. */
  readonly keep?: number;
}

/** Which checkpoint: the newest, the one with the lowest validation loss, or that of a step. */
export type CheckpointChoice = "last" | "best" | number;

/** A run on disk. `create` and `open` own it until `close`; `read` only looks. */
export class RunFolder {
  readonly path: string;
  /** The text of config.yaml. */
  config: string;
  readonly environment: Readonly<Record<string, unknown>>;
  /** What the user should know: damage that does not stop anything, and what cannot be checked. */
  readonly warnings: readonly string[];
  /** Checkpoints to keep, besides the best. */
  keep: number;
  #identity: RunIdentity | undefined;
  readonly #lock: Lock | null;
  readonly #tensorBoard: TensorBoardLog;
  readonly #journal = new RunJournal();
  #events = "";
  #words = "";
  /** When events last went to disk: never yet, so the first is seen at once. */
  #flushedMs = 0;
  #broken = false;

  private constructor(path: string, content: FoundContent, lock: Lock | null, { keep = 3 }: RunOptions) {
    this.path = path;
    this.config = content.config;
    this.environment = content.environment;
    this.warnings = content.warnings;
    this.#identity = content.identity;
    this.#lock = lock;
    this.keep = keep;
    this.#tensorBoard = new TensorBoardLog(join(path, TENSORBOARD), () => shownSettings(this.config));
  }

  /** Makes the folder with its config and environment, before anything else, and takes its lock. */
  static async create(path: string, content: RunContent, options: RunOptions = {}): Promise<RunFolder> {
    if (options.keep !== undefined && !(Number.isInteger(options.keep) && options.keep > 0))
      reject({ who: path, needed: "at least 1 checkpoint to keep", got: `${options.keep}` }, 2);
    refuseTaken(path);
    let lock: Lock | undefined;
    try {
      await mkdir(path, { recursive: true });
      lock = takeLock(join(path, LOCK));
      refuseTaken(path); // another process may have been faster
      await removeTemporary(path); // of one that was killed before its folder was a run
      const files = { ...content.files, [ENVIRONMENT]: `${JSON.stringify(content.environment, null, 2)}\n` };
      await mkdir(join(path, CHECKPOINTS), { recursive: true });
      for (const [name, data] of Object.entries(files)) await writeAtomically(join(path, name), data);
      const identity = newIdentity(content.config, content.text ?? null, files);
      await writeIdentity(path, identity);
      await writeAtomically(join(path, CONFIG), content.config); // last: it makes the folder a run
      return new RunFolder(path, { ...content, identity, warnings: [] }, lock, options);
    } catch (error) {
      lock?.release();
      throw writeFault(path, "the run folder", error);
    }
  }

  /** Takes over a run that nobody writes, and clears away what a killed process left unfinished. */
  static async open(path: string, options: RunOptions = {}): Promise<RunFolder> {
    refuseForeign(path);
    let lock: Lock | undefined;
    try {
      lock = takeLock(join(path, LOCK));
      await removeTemporary(path);
      await mkdir(join(path, CHECKPOINTS), { recursive: true });
      await recover(join(path, CHECKPOINTS));
      return new RunFolder(path, await readContent(path), lock, options);
    } catch (error) {
      lock?.release();
      throw writeFault(path, "the run folder", error);
    }
  }

  /** Looks at a run without owning it; also while another process trains. */
  static async read(path: string): Promise<RunFolder> {
    refuseForeign(path);
    return new RunFolder(path, await readContent(path), null, {});
  }

  /** Writes down a step, an evaluation or the end; the first at once, later steps once a second, all others at once. */
  append(event: LoggedEvent): void {
    this.#own();
    const stored: StoredEvent = { ...event, timeMs: Date.now() };
    this.#events += encodeEvent(stored);
    this.#words += this.#journal.linesFor(event);
    this.#tensorBoard.add(stored);
    if (event.type !== "step" || stored.timeMs - this.#flushedMs >= FLUSH_MS) this.flush();
  }

  /** Keeps any event of training: checkpoints are stored, all others written down but how far an evaluation is. */
  async record(event: TrainEvent): Promise<void> {
    if (event.type === "evaluating") return;
    if (event.type === "checkpoint") await this.writeCheckpoint(event.state, { best: event.best });
    else this.append(event);
  }

  /** Writes a file of the task's own into the folder. */
  async writeFile(name: string, data: Uint8Array | string): Promise<void> {
    this.#own();
    await writeAtomically(join(this.path, name), data).catch((error: unknown) => {
      throw writeFault(this.path, name, error);
    });
  }

  /** The hash of the text that the run learns from; undefined where it is not known. */
  get text(): string | undefined {
    return this.#identity?.text ?? undefined;
  }

  /** Binds a run of an older version, or one whose identity is damaged, to what it is now. */
  async bind(text: string | null): Promise<void> {
    this.#own();
    if (this.#identity) return;
    const names = [...RUN_FILES, ENVIRONMENT].filter((name) => existsSync(join(this.path, name)));
    const files = await Promise.all(names.map(async (name) => [name, await readFile(join(this.path, name))] as const));
    await this.#identify(newIdentity(this.config, text, Object.fromEntries(files)));
  }

  /** Changes what a bound run is bound to, from a step on, and writes that down. */
  async change({ config, text, step, set }: Changed): Promise<void> {
    this.#own();
    const held = this.#identity!;
    const other = text === held.text ? {} : { text: held.text };
    const change: RunChange = { time: new Date().toISOString(), step, set, ...other, before: held.config };
    await this.#identify({ ...held, config, text, changes: [...held.changes, change] });
    await this.writeFile(CONFIG, config);
    this.config = config;
    const said = Object.entries(set).map(
      ([key, [from, to]]) => `${key} ${JSON.stringify(from)} → ${JSON.stringify(to)}`,
    );
    this.log(`\nchanged after step ${step}: ${[...said, ...("text" in other ? ["another text"] : [])].join(", ")}`);
  }

  async #identify(identity: RunIdentity): Promise<void> {
    await writeIdentity(this.path, identity).catch((error: unknown) => {
      throw writeFault(this.path, IDENTITY_FILE, error);
    });
    this.#identity = identity;
  }

  /** Removes checkpoints beyond those to keep: a kill may have come before. */
  async prune(): Promise<void> {
    this.#own();
    await prune(join(this.path, CHECKPOINTS), this.keep);
  }

  /** Adds text to the log, at once. */
  log(text: string): void {
    this.#words += text.endsWith("\n") ? text : `${text}\n`;
    this.flush();
  }

  /** Shows histograms, pictures or texts in TensorBoard; scalars come with the events. */
  show(step: number, drawings: readonly Drawing[]): void {
    this.#own();
    this.#tensorBoard.show({ step, timeMs: Date.now() }, drawings);
  }

  /** Brings everything appended so far to the files. */
  flush(): void {
    this.#own();
    this.#guard(EVENTS, () => {
      this.#stillOurs();
      if (!this.#events) return;
      appendFileSync(join(this.path, EVENTS), this.#events);
      this.#events = "";
      this.#flushedMs = Date.now();
    });
    this.#guard(LOG, () => {
      if (this.#words) appendFileSync(join(this.path, LOG), this.#words);
      this.#words = "";
    });
    this.#guard("TensorBoard files", () => this.#tensorBoard.flush());
  }

  /** Stores the state as a checkpoint and returns its folder; the events before it are on disk first. */
  async writeCheckpoint(state: TrainState, { best = false }: { best?: boolean } = {}): Promise<string> {
    this.flush();
    this.#guard(EVENTS, () => syncFile(join(this.path, EVENTS)));
    try {
      return await writeCheckpoint(join(this.path, CHECKPOINTS), state, { best, keep: this.keep });
    } catch (error) {
      throw writeFault(this.path, `the checkpoint of step ${state.progress.step}`, error);
    }
  }

  /** What checkpoints there are, by rising step. */
  checkpoints(): Promise<CheckpointPlace[]> {
    return listCheckpoints(join(this.path, CHECKPOINTS));
  }

  /** Reads and verifies a checkpoint. A damaged newest one is passed over with a warning; one asked for by step or as best is not. `finite`: likewise one with weights that are not. */
  async readCheckpoint(choice: CheckpointChoice, { finite = false } = {}): Promise<LoadedCheckpoint> {
    const places = await this.checkpoints();
    if (choice === "last") return (await readNewest(places, finite)) ?? this.#missing(choice, places);
    const place = places.find(({ step, best }) => (choice === "best" ? best : step === choice));
    if (!place) return this.#missing(choice, places);
    return { step: place.step, ...(await readCheckpoint(place.path)) };
  }

  #missing(choice: CheckpointChoice, places: readonly CheckpointPlace[]): never {
    const steps = places.map(({ step }) => step).join(", ");
    return rejectOption({
      who: this.path,
      needed: typeof choice === "number" ? `a checkpoint of step ${choice}` : `a ${choice} checkpoint`,
      got: steps ? `checkpoints of steps ${steps}` : "none yet",
      ...(steps ? {} : { remedy: `train further with \`layerwise resume ${this.path}\`` }),
    });
  }

  /** The events on disk; lines that are damaged or cut short do not count. */
  async events(): Promise<StoredEvent[]> {
    return this.eventLog().events;
  }

  /** The same, with how many lines did not count. */
  eventLog(): EventLog {
    const path = join(this.path, EVENTS);
    return existsSync(path) ? decodeEvents(readLines(path, { lossy: true })) : { events: [], damaged: 0 };
  }

  /** Makes the folder as it was at `step`, to go on from there: later events and checkpoints are removed, TensorBoard files written anew. */
  async cutBack(step: number): Promise<void> {
    this.flush();
    try {
      const kept = eventsUpTo(await this.events(), step);
      await writeAtomically(join(this.path, EVENTS), encodeEvents(kept));
      await this.#tensorBoard.rewrite(kept, step);
      await removeAfter(join(this.path, CHECKPOINTS), step);
    } catch (error) {
      throw writeFault(this.path, "the run folder", error);
    }
    this.log(`\nresumed after step ${step} on ${new Date().toISOString()}`);
  }

  /** The process that trains this run now, if any: a lock left by a killed one is `live: false`. */
  owner(): { pid: number; live: boolean } | undefined {
    const found = lockHolder(join(this.path, LOCK));
    return found && { pid: found.holder.pid, live: found.live };
  }

  /** Writes what waits and gives the folder back. After a failed write only the latter. */
  close(): void {
    try {
      if (this.#lock && !this.#broken) this.flush();
    } finally {
      this.#lock?.release();
    }
  }

  #own(): void {
    if (this.#lock === null)
      rejectOption({ who: this.path, needed: "a run opened for writing", got: "one opened for reading" });
  }

  /** Whoever deletes a folder deletes its lock; another run may have begun in its place. */
  #stillOurs(): void {
    if (!existsSync(this.path) || this.#lock?.isHeld()) return;
    const got = this.owner() ? `that of process ${this.owner()?.pid}` : "none";
    reject({ who: this.path, needed: "this process's lock on the folder", got, remedy: "leave running runs alone" });
  }

  #guard(what: string, write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#broken = true;
      throw writeFault(this.path, what, error);
    }
  }
}

function isRun(path: string): boolean {
  return existsSync(join(path, CONFIG));
}

/** Refuses a folder that holds a run, or files that are not of a run. */
export function refuseTaken(path: string): void {
  if (!existsSync(path)) return;
  if (isRun(path))
    reject(
      {
        who: path,
        needed: "a folder without a run",
        got: "one that has a run",
        remedy: `continue it with \`layerwise resume ${path}\`, or choose another folder`,
      },
      2,
    );
  const found = isDirectory(path) ? readdirSync(path).filter((name) => !isBeginning(name)) : ["a file"];
  if (found.length > 0)
    reject(
      { who: path, needed: "an empty or new folder", got: found.slice(0, 3).join(", "), remedy: "choose another" },
      2,
    );
}

const isDirectory = (path: string) => statSync(path).isDirectory();

/** What a run that was killed before it had its config may have left. */
function isBeginning(name: string): boolean {
  return [LOCK, ENVIRONMENT, IDENTITY_FILE, CHECKPOINTS, ...RUN_FILES].includes(name) || /^\..*\.tmp$/.test(name);
}

function refuseForeign(path: string): void {
  if (isRun(path)) return;
  const got = existsSync(path) ? `no ${CONFIG} in it` : "no such folder";
  reject({ who: path, needed: "a run folder", got, remedy: "list runs with `layerwise runs`" }, 2);
}

async function readContent(path: string): Promise<FoundContent> {
  const found = await readIdentity(path);
  const file = await readFile(join(path, CONFIG), "utf8");
  const { environment, damage } = await readEnvironment(path, "identity" in found ? found.identity : undefined);
  if ("fault" in found) return { config: file, environment, identity: undefined, warnings: [found.fault, ...damage] };
  const { identity } = found;
  return { config: await heldConfig(path, file, identity), environment, identity, warnings: damage };
}

/** It is only a note, so a damaged one does not stop anybody. */
async function readEnvironment(
  folder: string,
  identity: RunIdentity | undefined,
): Promise<{ environment: Record<string, unknown>; damage: readonly string[] }> {
  const path = join(folder, ENVIRONMENT);
  try {
    const text = await readFile(path, "utf8");
    const hash = identity?.files[ENVIRONMENT];
    const value: unknown = JSON.parse(text);
    const isWhole = typeof value === "object" && value !== null && (hash === undefined || hash === sha256(text));
    if (isWhole) return { environment: { ...value }, damage: [] };
  } catch {}
  return { environment: {}, damage: [`${path} is damaged or gone: threads and device are this machine's`] };
}

/** What killed processes left under names of their own, in any folder of the run. */
async function removeTemporary(path: string): Promise<void> {
  const entries = await readdir(path, { recursive: true });
  for (const name of entries) {
    if (/^\..*\.tmp$/.test(basename(name))) await rm(join(path, name), { recursive: true, force: true });
  }
}

function syncFile(path: string): void {
  const file = openSync(path, "a");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
