/** A shelf of values by name that the browser keeps (IndexedDB): what is put there is there whole or not at all, on the disk before the answer. */
import { LayerwiseError, messageOf, reject } from "./errors.ts";

/** As much of IndexedDB as is needed: its types come with a browser's. */
interface Asked<T> {
  readonly result: T;
  readonly error: unknown;
  onsuccess: (() => void) | null;
  onerror: (() => void) | null;
  onupgradeneeded?: (() => void) | null;
}

/** What can be done in a transaction. */
export interface Shelf {
  get(key: string): Asked<unknown>;
  getAll(): Asked<unknown[]>;
  getAllKeys(): Asked<string[]>;
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

/** Does things in one transaction and gives their results. `what` names them in errors. */
export type Within = <T>(
  mode: "readonly" | "readwrite",
  what: string,
  ask: (shelf: Shelf) => Asked<T> | undefined,
) => Promise<T | undefined>;

/** Opens the only shelf of a database; `who` asks, and `remedy` is what to do in Node. */
export async function openShelf(name: string, shelf: string, who: string, remedy: string): Promise<Within> {
  const { indexedDB } = globalThis as { indexedDB?: { open(name: string, version: number): Asked<Database> } };
  if (!indexedDB) return reject({ who, needed: "a browser's IndexedDB", got: "none", remedy });
  const database = await opened(indexedDB.open(name, 1), shelf, who);
  return (mode, what, ask) =>
    committed(database.transaction(shelf, mode, { durability: "strict" }), shelf, ask, who, what);
}

function opened(asked: Asked<Database>, shelf: string, who: string): Promise<Database> {
  asked.onupgradeneeded = () => void asked.result.createObjectStore(shelf);
  return new Promise((resolve, fail) => {
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => fail(failed(who, "IndexedDB could not be opened", asked.error));
  });
}

function committed<T>(
  transaction: Transaction,
  shelf: string,
  ask: (shelf: Shelf) => Asked<T> | undefined,
  who: string,
  what: string,
): Promise<T | undefined> {
  return new Promise((resolve, fail) => {
    const asked = ask(transaction.objectStore(shelf));
    transaction.oncomplete = () => resolve(asked?.result);
    transaction.onabort = () => fail(failed(who, `the browser did not keep ${what}`, transaction.error));
  });
}

function failed(who: string, what: string, cause: unknown): LayerwiseError {
  return new LayerwiseError(`${who}: ${what}: ${messageOf(cause)}`, 1, { cause });
}
