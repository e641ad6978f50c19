/** The last checkpoint of training on a page, kept by the browser (IndexedDB): it outlives the tab. */
import { LayerwiseError, messageOf, reject } from "../base/errors.ts";
import { check, text } from "../base/options.ts";
import type { TrainEvent, TrainState } from "./events.ts";
import type { Recorder } from "./train.ts";

/** Where `train({ into })` keeps checkpoints, each in the place of the one before; `train({ resume: await last() })` goes on. */
export interface BrowserCheckpoints extends Recorder {
  record(event: TrainEvent): Promise<void>;
  /** The last state that was kept. */
  last(): Promise<TrainState | undefined>;
  /** Forgets it. */
  clear(): Promise<void>;
}

/** As much of IndexedDB as is needed: its types come with a browser's. */
interface Asked<T> {
  readonly result: T;
  readonly error: unknown;
  onsuccess: (() => void) | null;
  onerror: (() => void) | null;
  onupgradeneeded?: (() => void) | null;
}
interface Shelf {
  get(key: string): Asked<unknown>;
  put(value: unknown, key: string): Asked<unknown>;
  delete(key: string): Asked<unknown>;
}
interface Transaction {
  objectStore(name: string): Shelf;
  readonly error: unknown;
  oncomplete: (() => void) | null;
  onabort: (() => void) | null;
}
interface Database {
  createObjectStore(name: string): unknown;
  transaction(name: string, mode: string, options: { durability: string }): Transaction;
}

const DATABASE = "layerwise";
const SHELF = "checkpoints";

/** Checkpoints of this name, which is yours to choose, of pages of this origin. */
export async function browserCheckpoints(name: string): Promise<BrowserCheckpoints> {
  check("browserCheckpoints / name", name, text);
  const database = await openDatabase();
  const within = <T>(mode: string, ask: (shelf: Shelf) => Asked<T>) => committed(database, mode, ask, name);
  return {
    record: async (event) => {
      if (event.type === "checkpoint") await within("readwrite", (shelf) => shelf.put(event.state, name));
    },
    last: async () => (await within("readonly", (shelf) => shelf.get(name))) as TrainState | undefined,
    clear: async () => void (await within("readwrite", (shelf) => shelf.delete(name))),
  };
}

async function openDatabase(): Promise<Database> {
  const { indexedDB } = globalThis as { indexedDB?: { open(name: string, version: number): Asked<Database> } };
  if (!indexedDB) {
    const remedy = "in Node keep a run folder: into: await Run.create(path)";
    return reject({ who: "browserCheckpoints", needed: "a browser's IndexedDB", got: "none", remedy });
  }
  const asked = indexedDB.open(DATABASE, 1);
  asked.onupgradeneeded = () => void asked.result.createObjectStore(SHELF);
  return new Promise((resolve, fail) => {
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => fail(failed("IndexedDB could not be opened", asked.error));
  });
}

/** Does one thing, whole or not at all; the answer comes once it is on the disk. */
function committed<T>(database: Database, mode: string, ask: (shelf: Shelf) => Asked<T>, name: string): Promise<T> {
  return new Promise((resolve, fail) => {
    const transaction = database.transaction(SHELF, mode, { durability: "strict" });
    const asked = ask(transaction.objectStore(SHELF));
    transaction.oncomplete = () => resolve(asked.result);
    transaction.onabort = () => fail(failed(`the browser did not keep ${name}`, transaction.error));
  });
}

function failed(what: string, cause: unknown): LayerwiseError {
  return new LayerwiseError(`browserCheckpoints: ${what}: ${messageOf(cause)}`, 1, { cause });
}
