/** Python's pickle format, read as data: no code is run, and what is not on the caller's list of globals is refused. */
import { rejectFile as reject } from "../base/errors.ts";
import { Allowance, type ReadLimits } from "./limits.ts";

/** What a pickle may hold: dictionaries become maps, tuples and lists arrays, None null; other objects are what `globals` makes. */
export type Pickled = unknown;

export interface PickleOptions extends ReadLimits {
  /** What `module.name` stands for: a function is called with the arguments of a REDUCE, anything else is a plain value. */
  globals: Readonly<Record<string, unknown>>;
  /** What a persistent id stands for. */
  persistent?: (id: Pickled) => Pickled;
}

/** Reads one pickled value; `source` names it in errors. */
export function readPickle(bytes: Uint8Array, source: string, options: PickleOptions): Pickled {
  return new Machine(bytes, source, options).run();
}

const decoder = new TextDecoder();
const STOP = 0x2e;
const EMPTY_DICT = 125;
/** Bytes of memory that an opcode may take besides those in the file: a slot, a list or a remembered value; an empty dictionary. */
const [VALUE_BYTES, DICT_BYTES] = [48, 240];
/** The constructors of tensors have four to seven. */
const MOST_ARGUMENTS = 16;

class Machine {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  readonly #source: string;
  readonly #options: PickleOptions;
  readonly #memo = new Map<number, Pickled>();
  readonly #allowance: Allowance;
  readonly #stack: Pickled[] = [];
  /** Heights of the stack at which a MARK stands. */
  readonly #marks: number[] = [];
  #at = 0;

  constructor(bytes: Uint8Array, source: string, options: PickleOptions) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#source = source;
    this.#options = options;
    this.#allowance = new Allowance(source, bytes.length, options);
  }

  run(): Pickled {
    for (;;) {
      const offset = this.#at;
      const code = this.unsigned(1);
      if (code === STOP) return this.pop();
      const step = opcodes[code];
      if (!step) this.fail("a pickle of tensors", `opcode 0x${code.toString(16)} at offset ${offset}`);
      this.#allowance.take(code === EMPTY_DICT ? DICT_BYTES : VALUE_BYTES, "the values of the pickle");
      step(this);
    }
  }

  fail(needed: string, got: string, remedy?: string): never {
    reject({ who: this.#source, needed, got, ...(remedy ? { remedy } : {}) });
  }

  take(length: number): Uint8Array {
    if (!Number.isSafeInteger(length) || length < 0 || this.#at + length > this.#bytes.length) {
      this.fail(`${length} bytes at offset ${this.#at}`, "the end of the pickle", "the file is cut short or damaged");
    }
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  /** A little-endian number of 1, 2, 4 or 8 bytes. */
  unsigned(width: 1 | 2 | 4 | 8): number {
    const at = this.#at;
    this.take(width);
    if (width === 8) return Number(this.#view.getBigUint64(at, true));
    return width === 1
      ? this.#view.getUint8(at)
      : width === 2
        ? this.#view.getUint16(at, true)
        : this.#view.getUint32(at, true);
  }

  int32(): number {
    return this.unsigned(4) | 0;
  }

  float64(): number {
    const at = this.#at;
    this.take(8);
    return this.#view.getFloat64(at, false);
  }

  /** A two's-complement number of any length. */
  long(length: number): number {
    const digits = this.take(length);
    let value = 0n;
    for (let i = digits.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(digits[i]!);
    return Number(BigInt.asIntN(8 * Math.max(1, digits.length), value));
  }

  text(length: number): string {
    return decoder.decode(this.take(length));
  }

  line(): string {
    const end = this.#bytes.indexOf(0x0a, this.#at);
    if (end < 0) this.fail(`a line at offset ${this.#at}`, "the end of the pickle");
    const text = this.text(end - this.#at);
    this.#at++;
    return text;
  }

  push(value: Pickled): void {
    this.#stack.push(value);
  }

  /** How high the stack is above its last mark. */
  #above(): number {
    return this.#stack.length - (this.#marks.at(-1) ?? 0);
  }

  pop(): Pickled {
    if (this.#above() === 0) this.fail("a value on the stack", "none", "the file is damaged");
    return this.#stack.pop();
  }

  mark(): void {
    this.#marks.push(this.#stack.length);
  }

  /** All values above the last mark, which goes too. */
  popMarked(): Pickled[] {
    const mark = this.#marks.pop();
    if (mark === undefined) this.fail("a mark on the stack", "none", "the file is damaged");
    return this.#stack.splice(mark);
  }

  top(): Pickled {
    if (this.#above() === 0) this.fail("a value on the stack", "none", "the file is damaged");
    return this.#stack.at(-1);
  }

  remember(key: number): void {
    this.#memo.set(key, this.top());
  }

  rememberNext(): void {
    this.remember(this.#memo.size);
  }

  recall(key: number): void {
    if (!this.#memo.has(key)) this.fail(`memory ${key}`, "nothing stored there", "the file is damaged");
    this.push(this.#memo.get(key));
  }

  /** The one door through which names of code come; only what the caller listed passes. */
  global(module: string, name: string): void {
    const path = `${module}.${name}`;
    if (!Object.hasOwn(this.#options.globals, path)) {
      const remedy = "a file that names other code could run it when Python loads it: do not trust it";
      this.fail(`only ${Object.keys(this.#options.globals).join(", ")}`, path.slice(0, 200), remedy);
    }
    this.push(this.#options.globals[path]);
  }

  reduce(): void {
    const [values, callee] = [this.pop(), this.pop()];
    if (typeof callee !== "function") this.fail("a known constructor to call", kindOf(callee));
    if (!Array.isArray(values) || values.length > MOST_ARGUMENTS)
      this.fail(`at most ${MOST_ARGUMENTS} arguments`, kindOf(values));
    this.push(callee(...values));
  }

  persist(): void {
    const { persistent } = this.#options;
    if (!persistent) this.fail("a pickle without outside objects", "a persistent id");
    this.push(persistent(this.pop()));
  }

  append(values: readonly Pickled[]): void {
    const list = this.top();
    if (!Array.isArray(list)) this.fail("a list to append to", kindOf(list));
    for (const value of values) list.push(value);
  }

  setItems(pairs: readonly Pickled[]): void {
    const map = this.top();
    if (!(map instanceof Map)) this.fail("a dictionary to fill", kindOf(map));
    if (pairs.length % 2 !== 0) this.fail("a value for every key", `${pairs.length} keys and values`);
    for (let i = 0; i < pairs.length; i += 2) map.set(pairs[i], pairs[i + 1]);
  }
}

/** What a value is, in words: lists may hold one another, so that writing them out would never end. */
export function kindOf(value: Pickled): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value instanceof Map) return `a dictionary of ${value.size}`;
  if (typeof value === "string") return JSON.stringify(value.slice(0, 40));
  return typeof value === "object" && value !== null ? "an object" : typeof value === "function" ? "code" : `${value}`;
}

type Opcode = (machine: Machine) => void;

const put = (machine: Machine, count: number) => {
  const values = Array.from({ length: count }, () => machine.pop()).reverse();
  machine.push(values);
};

function stackGlobal(machine: Machine): void {
  const [name, module] = [machine.pop(), machine.pop()];
  if (typeof name !== "string" || typeof module !== "string")
    machine.fail("the name of a global", `${kindOf(module)} and ${kindOf(name)}`);
  machine.global(module, name);
}

function setOne(machine: Machine): void {
  const [value, key] = [machine.pop(), machine.pop()];
  machine.setItems([key, value]);
}

/** The opcodes that data of tensors need; each is one row, and all others are refused. */
const opcodes: Readonly<Record<number, Opcode>> = {
  128: (m) => void m.unsigned(1), // PROTO
  149: (m) => void m.unsigned(8), // FRAME
  40: (m) => m.mark(),
  48: (m) => void m.pop(),
  49: (m) => void m.popMarked(),
  50: (m) => m.push(m.top()), // DUP

  78: (m) => m.push(null),
  136: (m) => m.push(true),
  137: (m) => m.push(false),
  74: (m) => m.push(m.int32()),
  75: (m) => m.push(m.unsigned(1)),
  77: (m) => m.push(m.unsigned(2)),
  138: (m) => m.push(m.long(m.unsigned(1))),
  71: (m) => m.push(m.float64()),
  88: (m) => m.push(m.text(m.unsigned(4))),
  140: (m) => m.push(m.text(m.unsigned(1))),
  141: (m) => m.push(m.text(m.unsigned(8))),
  85: (m) => m.push(m.text(m.unsigned(1))), // SHORT_BINSTRING
  84: (m) => m.push(m.text(m.unsigned(4))), // BINSTRING

  41: (m) => m.push([]), // ()
  93: (m) => m.push([]),
  [EMPTY_DICT]: (m) => m.push(new Map()),
  133: (m) => put(m, 1),
  134: (m) => put(m, 2),
  135: (m) => put(m, 3),
  116: (m) => m.push(m.popMarked()), // TUPLE
  108: (m) => m.push(m.popMarked()), // LIST
  97: (m) => m.append([m.pop()]),
  101: (m) => m.append(m.popMarked()),
  115: setOne,
  117: (m) => m.setItems(m.popMarked()),

  113: (m) => m.remember(m.unsigned(1)),
  114: (m) => m.remember(m.unsigned(4)),
  148: (m) => m.rememberNext(),
  104: (m) => m.recall(m.unsigned(1)),
  106: (m) => m.recall(m.unsigned(4)),

  99: (m) => m.global(m.line(), m.line()),
  147: stackGlobal,
  82: (m) => m.reduce(),
  129: (m) => m.reduce(), // NEWOBJ
  81: (m) => m.persist(),
  // BUILD sets attributes, of which tensors need none.
  98: (m) => void m.pop(),
};
