/** A WebAssembly module as bytes: its sections, the entries of those that list something, and a module out of them. */
import { joined } from "../base/joined.ts";

/** The sections that are read or written here. */
export const sectionIds = { types: 1, imports: 2, functions: 3, memories: 5, exports: 7, code: 10 } as const;

export interface Section {
  readonly id: number;
  readonly content: Uint8Array;
}

const HEADER = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

/** A number in groups of seven bits, the lowest first, and where it ends. */
export function readNumber(bytes: Uint8Array, at: number): [value: number, end: number] {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = bytes[at++]!;
    value += (byte & 127) * scale;
    if (byte < 128) return [value, at];
  }
}

export function writeNumber(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...writeNumber(Math.floor(value / 128))];
}

/** The sections of a module, as views of it. */
export function sectionsOf(file: Uint8Array): Section[] {
  const sections: Section[] = [];
  for (let at = HEADER.length; at < file.length; ) {
    const [size, start] = readNumber(file, at + 1);
    sections.push({ id: file[at]!, content: file.subarray(start, start + size) });
    at = start + size;
  }
  return sections;
}

/** A module of sections. */
export function moduleOf(sections: readonly Section[]): Uint8Array<ArrayBuffer> {
  const parts = sections.flatMap(({ id, content }) => [Uint8Array.of(id, ...writeNumber(content.length)), content]);
  return joined([HEADER, ...parts]);
}

/** Where an entry that begins at a place ends. */
type End = (bytes: Uint8Array, at: number) => number;

const numberEnd: End = (bytes, at) => readNumber(bytes, at)[1];
/** So many bytes, after their number: a name, a function's body. */
const sizedEnd: End = (bytes, at) => {
  const [size, start] = readNumber(bytes, at);
  return start + size;
};
const limitsEnd: End = (bytes, at) => {
  const least = numberEnd(bytes, at + 1);
  return bytes[at]! & 1 ? numberEnd(bytes, least) : least;
};
/** By kind: function, table, memory, global, tag. */
const imported: readonly End[] = [
  numberEnd,
  (bytes, at) => limitsEnd(bytes, at + 1),
  limitsEnd,
  (_, at) => at + 2,
  (bytes, at) => numberEnd(bytes, at + 1),
];

const ends: Readonly<Record<number, End>> = {
  [sectionIds.types]: (bytes, at) => sizedEnd(bytes, sizedEnd(bytes, at + 1)),
  [sectionIds.imports]: (bytes, at) => {
    const kind = sizedEnd(bytes, sizedEnd(bytes, at));
    return imported[bytes[kind]!]!(bytes, kind + 1);
  },
  [sectionIds.functions]: numberEnd,
  [sectionIds.exports]: (bytes, at) => numberEnd(bytes, sizedEnd(bytes, at) + 1),
  [sectionIds.code]: sizedEnd,
};

/** The entries of a module's section, as views; none where the section is not there. */
export function entriesOf(sections: readonly Section[], id: number): Uint8Array[] {
  const bytes = sections.find((section) => section.id === id)?.content;
  if (!bytes) return [];
  let [count, at] = readNumber(bytes, 0);
  const entries: Uint8Array[] = [];
  for (; count > 0; count--) {
    const end = ends[id]!(bytes, at);
    entries.push(bytes.subarray(at, end));
    at = end;
  }
  return entries;
}

/** A section that lists entries. */
export function sectionOf(id: number, entries: readonly Uint8Array[]): Section {
  return { id, content: joined([Uint8Array.from(writeNumber(entries.length)), ...entries]) };
}

/** Of an import: whether it is a function. */
export function importsFunction(entry: Uint8Array): boolean {
  return entry[sizedEnd(entry, sizedEnd(entry, 0))] === 0;
}

/** Of an export: its name, and the number of what it names. */
export function exportOf(entry: Uint8Array): { name: string; index: number } {
  const [size, start] = readNumber(entry, 0);
  const name = String.fromCharCode(...entry.subarray(start, start + size));
  return { name, index: readNumber(entry, start + size + 1)[0] };
}

/** Where the instructions of a function's body begin: after its size and its variables. */
export function instructionsAt(body: Uint8Array): number {
  const [, start] = readNumber(body, 0);
  let [groups, at] = readNumber(body, start);
  for (; groups > 0; groups--) at = numberEnd(body, at) + 1;
  return at;
}
