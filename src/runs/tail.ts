/** Events of a run as they come: what was read is not read again; and single events out of the middle of a long file. */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { eventsIn, type StoredEvent } from "./event-log.ts";
import { EVENTS_FILE } from "./folder.ts";

const CHUNK = 1 << 22;
const NEWLINE = 10;

/** Uses a file that may not be there; undefined if it is not. */
function withFile<T>(path: string, use: (file: number, size: number, inode: number) => T): T | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { size, ino } = fstatSync(file);
    return use(file, size, ino);
  } finally {
    closeSync(file);
  }
}

/** For short looks, of which there are many; a look is over before the next begins. */
const scratch = Buffer.alloc(1 << 17);

function bytesAt(file: number, from: number, count: number): Buffer {
  const bytes = count <= scratch.length ? scratch.subarray(0, Math.max(0, count)) : Buffer.allocUnsafe(count);
  return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, from));
}

/** Reads on where it left off. A run that was set back writes its file anew: then everything comes again. */
export class EventTail {
  readonly #path: string;
  #offset = 0;
  #inode: number | undefined;

  /** `run` is the run folder. */
  constructor(run: string) {
    this.#path = join(run, EVENTS_FILE);
  }

  /** Gives new events to `see`, a part of the file at a time; `onReset` is called before events that come again. */
  read(see: (events: readonly StoredEvent[]) => void, onReset: () => void): void {
    const stat = statSync(this.#path, { throwIfNoEntry: false });
    if (!stat || (stat.ino === this.#inode && stat.size === this.#offset)) return;
    withFile(this.#path, (file, size, inode) => {
      if ((this.#inode !== undefined && inode !== this.#inode) || size < this.#offset) {
        this.#offset = 0;
        onReset();
      }
      this.#inode = inode;
      while (this.#offset < size && this.#part(file, size, see));
    });
  }

  /** A line that is not whole yet waits. */
  #part(file: number, size: number, see: (events: readonly StoredEvent[]) => void): boolean {
    const bytes = bytesAt(file, this.#offset, Math.min(CHUNK, size - this.#offset));
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    if (end === 0) return false;
    this.#offset += end;
    see(eventsIn(bytes.toString("utf8", 0, end)));
    return true;
  }
}

const [LINE, LONG_LINE, TAIL] = [512, 1 << 16, 4096];

/** Single events of a file by their place in it, which is by their step. */
export interface EventFile {
  readonly size: number;
  /** The first event that begins after a byte. */
  after(byte: number): StoredEvent | undefined;
  /** The last events, at least one step among them where there is one in the last 64 kB. */
  last(): StoredEvent[];
  /** The evaluations of a step. */
  evaluationsAt(step: number): StoredEvent[];
}

/** Opens a run's events for a few looks; undefined where there are none. */
export function lookAtEvents<T>(run: string, use: (events: EventFile) => T): T | undefined {
  return withFile(join(run, EVENTS_FILE), (file, size) => use(eventFile(file, size)));
}

function eventFile(file: number, size: number): EventFile {
  const after = (byte: number): StoredEvent | undefined => {
    for (const length of [LINE, LONG_LINE]) {
      const bytes = bytesAt(file, byte, length);
      const start = byte === 0 ? 0 : bytes.indexOf(NEWLINE) + 1;
      const end = bytes.indexOf(NEWLINE, start);
      if ((byte > 0 && start === 0) || end < 0) continue;
      return eventsIn(bytes.toString("utf8", start, end))[0];
    }
    return undefined;
  };
  return {
    size,
    after,
    last: () => lastOf(file, size),
    evaluationsAt: (step) => evaluationsAt(file, size, step),
  };
}

function lastOf(file: number, size: number): StoredEvent[] {
  for (const length of [TAIL, LONG_LINE]) {
    const from = Math.max(0, size - length);
    const text = bytesAt(file, from, size - from).toString("utf8");
    const events = eventsIn(from === 0 ? text : text.slice(text.indexOf("\n") + 1));
    if (from === 0 || length === LONG_LINE || events.some(({ type }) => type === "step")) return events;
  }
  return [];
}

/** Steps rise with the place in the file, so halving finds them; lines on the way are not decoded. */
function evaluationsAt(file: number, size: number, step: number): StoredEvent[] {
  let [low, high] = [0, size];
  while (high - low > TAIL) {
    const middle = (low + high) >> 1;
    const found = /\n\{"type":"\w+","step":(\d+)/.exec(bytesAt(file, middle, LINE).toString("latin1"));
    if (found && Number(found[1]) < step) low = middle;
    else high = middle;
  }
  for (const beyond of [TAIL, LONG_LINE]) {
    const lines = bytesAt(file, low, high - low + beyond)
      .toString("utf8")
      .split("\n");
    const start = `{"type":"evaluation","step":${step},`;
    const events = eventsIn(lines.filter((line) => line.startsWith(start)).join("\n"));
    if (events.length > 0) return events;
  }
  return [];
}
