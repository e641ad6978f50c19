/** How files are damaged: blindly, byte by byte, and at their joints, as JSON, protobuf and text have them. */
import type { RandomStream } from "../../src/base/random.ts";
import { ProtoReader, ProtoWriter } from "../../src/format/protobuf.ts";

/** No input is longer, so that millions of them can be tried. */
export const LONGEST = 1 << 19;

export const pick = <T>(random: RandomStream, items: readonly T[]): T => items[random.integer(items.length)]!;
export const chance = (random: RandomStream, oneIn: number): boolean => random.integer(oneIn) === 0;

/** Numbers at which readers break. */
export const EDGES = [
  0,
  1,
  2,
  3,
  7,
  8,
  63,
  64,
  127,
  128,
  255,
  256,
  32767,
  65535,
  65536,
  2 ** 20,
  2 ** 22,
  2 ** 24,
  2 ** 31 - 1,
  2 ** 31,
];
const WIDE_EDGES = [...EDGES, -1, -2, 2 ** 32 - 1, 2 ** 32, 2 ** 40, 2 ** 53 - 1, 2 ** 53, 1e15, 1e308, 0.5];

export const edge = (random: RandomStream): number => pick(random, EDGES);

type Change = (bytes: Buffer, random: RandomStream, words: readonly string[]) => Buffer;

const at = (random: RandomStream, bytes: Buffer) => random.integer(bytes.length + 1);
const cut = (random: RandomStream, bytes: Buffer): [number, number] => {
  const from = at(random, bytes);
  return [from, Math.min(bytes.length, from + 1 + random.integer(chance(random, 3) ? 256 : 8))];
};
const splice = (bytes: Buffer, from: number, to: number, between: Uint8Array) =>
  Buffer.concat([bytes.subarray(0, from), between, bytes.subarray(to)]);

function number(random: RandomStream): Buffer {
  const out = Buffer.alloc(8);
  out.writeBigInt64LE(BigInt(Math.trunc(Math.min(pick(random, WIDE_EDGES), 2 ** 62))));
  return out.subarray(0, pick(random, [1, 2, 4, 8]));
}

const changes: readonly Change[] = [
  (bytes, random) => {
    if (bytes.length > 0) bytes[random.integer(bytes.length)]! ^= 1 << random.integer(8);
    return bytes;
  },
  (bytes, random) => {
    if (bytes.length > 0) bytes[random.integer(bytes.length)] = random.integer(256);
    return bytes;
  },
  (bytes, random) => {
    const value = number(random);
    const from = at(random, bytes);
    return splice(bytes, from, Math.min(bytes.length, from + value.length), value);
  },
  (bytes, random) => bytes.subarray(0, at(random, bytes)),
  (bytes, random) => Buffer.concat([bytes, Buffer.alloc(1 + random.integer(64), random.integer(256))]),
  (bytes, random) => splice(bytes, ...cut(random, bytes), Buffer.alloc(0)),
  (bytes, random) => {
    const [from, to] = cut(random, bytes);
    return splice(bytes, to, to, bytes.subarray(from, to));
  },
  (bytes, random) => {
    const [from, to] = cut(random, bytes);
    const place = at(random, bytes);
    return splice(bytes, place, Math.min(bytes.length, place + to - from), bytes.subarray(from, to));
  },
  (bytes, random, words) => {
    const from = at(random, bytes);
    return splice(bytes, from, from, Buffer.from(pick(random, words.length > 0 ? words : ["\0"]), "latin1"));
  },
  // A number written in letters.
  (bytes, random) => {
    const found = [...bytes.toString("latin1").matchAll(/-?\d+(?:\.\d+)?/g)];
    if (found.length === 0) return bytes;
    const { index, 0: digits } = pick(random, found);
    return splice(bytes, index, index + digits.length, Buffer.from(`${pick(random, WIDE_EDGES)}`));
  },
];

/** A part many times over, mostly at a joint: what is quadratic, nests too deep or takes too much memory shows. */
export function stretched(whole: Uint8Array, random: RandomStream, words: readonly string[] = []): Buffer {
  const bytes = Buffer.from(whole);
  const [from, to] = cut(random, bytes);
  const sequence = () => Array.from({ length: 1 + random.integer(4) }, () => pick(random, words)).join("");
  const part = words.length > 0 && chance(random, 2) ? Buffer.from(sequence(), "latin1") : bytes.subarray(from, to);
  const times = Math.floor(LONGEST / 2 / Math.max(1, part.length));
  const joints = [...bytes.toString("latin1").matchAll(/[([{,:"\n]/g)].map(({ index }) => index + 1);
  const joint = pick(random, joints.length > 0 ? joints : [0]);
  const place = pick(random, [from, 0, bytes.length, joint, joint, joint]);
  return splice(bytes, place, place, Buffer.concat(Array(1 + random.integer(times)).fill(part))).subarray(0, LONGEST);
}

/** One to four blind changes. */
export function damaged(whole: Uint8Array, random: RandomStream, words: readonly string[] = []): Buffer {
  let bytes: Buffer = Buffer.from(whole);
  for (let i = random.integer(4); i >= 0; i--) bytes = pick(random, changes)(bytes, random, words);
  return bytes.subarray(0, LONGEST);
}

const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  "",
  "NaN",
  [],
  {},
  [[]],
  [null],
  "constructor",
  "__proto__",
  ...WIDE_EDGES,
];
const ODD_KEYS = ["", "constructor", "__proto__", "toString", "hasOwnProperty", "length", "then"];

function deep(random: RandomStream): unknown {
  let value: unknown = pick(random, ODD_VALUES);
  for (let i = random.integer(chance(random, 50) ? 20_000 : 20); i > 0; i--)
    value = chance(random, 2) ? [value] : { [pick(random, ODD_KEYS)]: value };
  return value;
}

/** Another value, key or nesting somewhere in a tree of JSON. */
export function twistedValue(value: unknown, random: RandomStream): unknown {
  if (typeof value !== "object" || value === null || chance(random, 6))
    return chance(random, 8) ? deep(random) : pick(random, ODD_VALUES);
  const entries = Object.entries(value);
  const chosen = random.integer(entries.length + 1);
  const [key, inner] = entries[chosen] ?? [pick(random, ODD_KEYS), null];
  if (chosen < entries.length && chance(random, 6)) entries.splice(chosen, 1);
  else if (chance(random, 10)) entries.push([pick(random, ODD_KEYS), inner]);
  else entries[chosen] = [key, twistedValue(inner, random)];
  return Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries);
}

export function twistedJson(text: string, random: RandomStream): string {
  const value = twistedValue(JSON.parse(text), random);
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "[".repeat(20_000); // too deep to be written
  }
}

type Field = { field: number; wire: number; value: number | Uint8Array };

function fieldsOf(bytes: Uint8Array): Field[] | undefined {
  const fields: Field[] = [];
  try {
    for (const reader = new ProtoReader(bytes, ""); !reader.done; ) {
      const { field, wire } = reader.tag();
      if (wire === 0) fields.push({ field, wire, value: reader.integer() });
      else if (wire === 1) fields.push({ field, wire, value: reader.double() });
      else if (wire === 5) fields.push({ field, wire, value: reader.float() });
      else fields.push({ field, wire, value: reader.bytes() });
    }
    return fields;
  } catch {
    return undefined;
  }
}

function messageOf(fields: readonly Field[]): Uint8Array {
  const writer = new ProtoWriter();
  for (const { field, wire, value } of fields) {
    if (typeof value !== "number") writer.bytes(field, value);
    else if (wire === 1) writer.double(field, value);
    else if (wire === 5) writer.float(field, value);
    else writer.integer(field, Math.trunc(Math.max(-(2 ** 53), Math.min(value, 2 ** 53))) || 0);
  }
  return writer.finish();
}

/** Another value, number, order or depth of a field somewhere in a message. */
export function twistedMessage(bytes: Uint8Array, random: RandomStream): Uint8Array {
  const fields = fieldsOf(bytes);
  if (!fields || fields.length === 0 || chance(random, 8)) return damaged(bytes, random);
  const chosen = random.integer(fields.length);
  const old = fields[chosen]!;
  const ways: (() => void)[] = [
    () => fields.splice(chosen, 1),
    () => fields.push(old),
    () => fields.splice(chosen, 0, ...Array<Field>(random.integer(chance(random, 40) ? 3000 : 30)).fill(old)),
    () => (fields[chosen] = { ...old, field: 1 + random.integer(50) }),
    () => (fields[chosen] = { field: old.field, wire: pick(random, [0, 1, 5]), value: pick(random, WIDE_EDGES) }),
    () => (fields[chosen] = { field: old.field, wire: 2, value: bytes.subarray(0, 200) }),
  ];
  const inner = typeof old.value === "number" ? undefined : old.value;
  if (inner && !chance(random, 3)) fields[chosen] = { ...old, value: twistedMessage(inner, random) };
  else pick(random, ways)();
  return messageOf(fields);
}
