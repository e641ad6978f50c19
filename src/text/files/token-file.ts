/** Token files: the pieces of a text in checksummed blocks, written as they come and read by windows, so that neither takes memory for the text. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { reject, rejectFile } from "../../base/errors.ts";
import { crc32c } from "../../format/crc.ts";
import type { EncodedLines, Ids, TextTokens } from "../tokens.ts";

/*
 * Layout, little-endian: magic, version, two words of 0 | blocks of ids and, between them, blocks of line ends (float64) | directory | trailer.
 * Directory: places of the blocks of ids, places of those of line ends, occurrences of each piece (float64 each), CRC-32C of each block.
 * Trailer: magic, version, bytes per id, CRC-32C of directory and the rest of the trailer (uint32), ids, lines, words, bytes of text, pieces,
 * bytes of the directory (float64).
 */
const MAGIC = 0x4b54574c; // "LWTK"
const VERSION = 2;
const HEAD_BYTES = 16;
const TRAILER_BYTES = 64;
const BLOCK_IDS = 1 << 15;
const BLOCK_LINES = 1 << 13;
/** What a reader keeps of blocks: rows of a batch read one stretch each. */
const KEPT_BYTES = 1 << 24;

const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** Where the bytes of a token file are. */
export interface ByteSource {
  readonly size: number;
  /** Fills `into` with the bytes from `position` on; false where there are not so many. */
  read(position: number, into: Uint8Array): boolean;
}

/** Bytes in memory. */
export function bytesSource(bytes: Uint8Array): ByteSource {
  return {
    size: bytes.length,
    read: (position, into) => {
      if (position + into.length > bytes.length) return false;
      into.set(bytes.subarray(position, position + into.length));
      return true;
    },
  };
}

const unused = new FinalizationRegistry<number>((descriptor) => closeSync(descriptor));

/** A file, open as long as somebody can read it; who holds it is not hurt where its name goes. */
export function fileSource(path: string): ByteSource {
  const descriptor = openSync(path, "r");
  const source: ByteSource = {
    size: fstatSync(descriptor).size,
    read: (position, into) => {
      let done = 0;
      while (done < into.length) {
        const count = readSync(descriptor, into, done, into.length - done, position + done);
        if (count === 0) return false;
        done += count;
      }
      return true;
    },
  };
  unused.register(source, descriptor);
  return source;
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView) => new Uint8Array(buffer, byteOffset, byteLength);
const idsArray = (width: number, length: number): Ids =>
  width === 2 ? new Uint16Array(length) : new Int32Array(length);
/** Bytes of an id where so many pieces exist. */
export const idBytes = (pieces: number): 2 | 4 => (pieces <= 65536 ? 2 : 4);

/** Values in blocks of one size, and the checksum of each. */
class BlockWriter<A extends Ids | Float64Array> {
  readonly places: number[] = [];
  readonly crcs: number[] = [];
  readonly #block: A;
  #filled = 0;

  constructor(block: A) {
    this.#block = block;
  }

  /** Takes values, and gives the bytes of the blocks that are full. */
  *add(values: A): Generator<Uint8Array> {
    for (let done = 0; done < values.length; ) {
      const count = Math.min(values.length - done, this.#block.length - this.#filled);
      this.#block.set(values.subarray(done, done + count), this.#filled);
      this.#filled += count;
      done += count;
      if (this.#filled === this.#block.length) yield* this.flush();
    }
  }

  /** The bytes of what there is, if anything. */
  *flush(): Generator<Uint8Array> {
    if (this.#filled === 0) return;
    const bytes = bytesOf(this.#block.slice(0, this.#filled));
    this.crcs.push(crc32c(bytes));
    this.#filled = 0;
    yield bytes;
  }
}

/** Makes the bytes of a token file from lines in the order of the text. */
export class TokenFileWriter {
  readonly #ids: BlockWriter<Ids>;
  readonly #ends = new BlockWriter(new Float64Array(BLOCK_LINES));
  readonly #counts: Float64Array;
  readonly #width: 2 | 4;
  #place = 0;
  #tokens = 0;
  #lines = 0;
  #words = 0;
  #bytes = 0;

  /** Of so many pieces in the vocabulary. */
  constructor(pieces: number) {
    if (!littleEndian) reject({ who: "token files", needed: "a little-endian machine", got: "a big-endian one" });
    this.#width = idBytes(pieces);
    this.#ids = new BlockWriter(idsArray(this.#width, BLOCK_IDS));
    this.#counts = new Float64Array(pieces);
  }

  /** Takes lines, and gives what can be written. */
  *add({ ids, lineEnds, words, bytes }: EncodedLines): Generator<Uint8Array> {
    if (this.#place === 0) yield this.#written(bytesOf(Uint32Array.of(MAGIC, VERSION, 0, 0)));
    for (let i = 0; i < ids.length; i++) this.#counts[ids[i]!]!++;
    yield* this.#placed(this.#ids, this.#ids.add(ids));
    const before = this.#tokens;
    yield* this.#placed(this.#ends, this.#ends.add(Float64Array.from(lineEnds, (end) => before + end)));
    this.#tokens += ids.length;
    this.#lines += lineEnds.length;
    this.#words += words;
    this.#bytes += bytes;
  }

  /** The rest of the file, once all lines are in. */
  *finish(): Generator<Uint8Array> {
    yield* this.add({ ids: idsArray(this.#width, 0), lineEnds: new Uint32Array(0), words: 0, bytes: 0 });
    yield* this.#placed(this.#ids, this.#ids.flush());
    yield* this.#placed(this.#ends, this.#ends.flush());
    const [ids, ends] = [this.#ids, this.#ends];
    const places = [Float64Array.from(ids.places), Float64Array.from(ends.places)];
    const directory = joined(...places, this.#counts, Uint32Array.from([...ids.crcs, ...ends.crcs]));
    yield directory;
    const sizes = [this.#tokens, this.#lines, this.#words, this.#bytes, this.#counts.length, directory.length];
    yield trailerOf(this.#width, sizes, directory);
  }

  *#placed(writer: { readonly places: number[] }, blocks: Iterable<Uint8Array>): Generator<Uint8Array> {
    for (const block of blocks) {
      writer.places.push(this.#place);
      yield this.#written(block);
    }
  }

  #written(block: Uint8Array): Uint8Array {
    this.#place += block.length;
    return block;
  }
}

/** The bytes of a token file, block by block, from lines in the order of the text. `pieces`: those of the vocabulary. */
export async function* tokenFileBlocks(
  stretches: AsyncIterable<EncodedLines> | Iterable<EncodedLines>,
  pieces: number,
): AsyncGenerator<Uint8Array> {
  const writer = new TokenFileWriter(pieces);
  for await (const stretch of stretches) yield* writer.add(stretch);
  yield* writer.finish();
}

/** Tokens that lie elsewhere, in stretches as `tokenFileBlocks` takes them. */
export function* stretchesOf(text: TextTokens, pieces: number): Generator<EncodedLines> {
  let [from, words, bytes] = [0, text.words, text.bytes ?? 0];
  for (let first = 0; first < text.lines; ) {
    const lineEnds: number[] = [];
    do lineEnds.push(text.lineEnd(first++) - from);
    while (first < text.lines && lineEnds.length < BLOCK_LINES && lineEnds.at(-1)! < BLOCK_IDS);
    const ids = new Int32Array(lineEnds.at(-1)!);
    text.ids.copy(from, ids.length, ids, 0);
    yield {
      ids: idBytes(pieces) === 2 ? Uint16Array.from(ids) : ids,
      lineEnds: Uint32Array.from(lineEnds),
      words,
      bytes,
    };
    from += ids.length;
    [words, bytes] = [0, 0]; // the first stretch has told them
  }
}

function joined(...arrays: readonly ArrayBufferView[]): Uint8Array {
  const out = new Uint8Array(arrays.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const array of arrays) {
    out.set(bytesOf(array), at);
    at += array.byteLength;
  }
  return out;
}

function trailerOf(width: number, numbers: readonly number[], directory: Uint8Array): Uint8Array {
  const trailer = joined(Uint32Array.of(MAGIC, VERSION, width, 0), Float64Array.from(numbers));
  new DataView(trailer.buffer).setUint32(12, crc32c(trailer, crc32c(directory)), true);
  return trailer;
}

/** What a token file says of itself. */
interface Contents {
  readonly width: number;
  readonly tokens: number;
  readonly lines: number;
  readonly words: number;
  readonly bytes: number;
  readonly idPlaces: Float64Array;
  readonly endPlaces: Float64Array;
  readonly counts: Float64Array;
  readonly crcs: Uint32Array;
}

type Damaged = (needed: string, got: string) => never;

const damagedAt =
  (who: string): Damaged =>
  (needed, got) =>
    rejectFile({ who, needed: `a token file with ${needed}`, got, remedy: "delete it and build it again" });

/** Whether bytes begin as a token file of this form does; older ones are read whole. */
export function isTokenFile(source: ByteSource): boolean {
  const head = new Uint32Array(2);
  return source.read(0, bytesOf(head)) && head[0] === MAGIC && head[1] === VERSION;
}

function contentsOf(source: ByteSource, damaged: Damaged): Contents {
  const head = new Uint32Array(HEAD_BYTES / 4);
  if (!source.read(0, bytesOf(head)) || head[0] !== MAGIC) damaged("its magic number", `0x${head[0]!.toString(16)}`);
  if (head[1] !== VERSION || head[2] !== 0 || head[3] !== 0) damaged(`version ${VERSION}`, head.join(" "));
  const trailer = new Uint8Array(TRAILER_BYTES);
  if (source.size < HEAD_BYTES + TRAILER_BYTES || !source.read(source.size - TRAILER_BYTES, trailer))
    damaged(`at least ${HEAD_BYTES + TRAILER_BYTES} bytes`, `${source.size}`);
  const words = new Uint32Array(trailer.buffer, 0, 4);
  const [magic, version, width, crc] = words as unknown as [number, number, number, number];
  const numbers = [...new Float64Array(trailer.buffer, 16)] as [number, number, number, number, number, number];
  const [tokens, lines, textWords, bytes, pieces, size] = numbers;
  if (magic !== MAGIC || version !== VERSION || (width !== 2 && width !== 4)) damaged("an end that is whole", "none");
  if (!numbers.every((n) => Number.isSafeInteger(n) && n >= 0)) damaged("whole numbers at its end", numbers.join(" "));
  const blocks = [Math.ceil(tokens / BLOCK_IDS), Math.ceil(lines / BLOCK_LINES)] as const;
  const needed = 8 * (blocks[0] + blocks[1] + pieces) + 4 * (blocks[0] + blocks[1]);
  if (size !== needed || size > source.size - HEAD_BYTES - TRAILER_BYTES)
    damaged(`a directory of ${needed} bytes`, `${size} in a file of ${source.size}`);
  const directory = new Uint8Array(size);
  source.read(source.size - TRAILER_BYTES - size, directory);
  words[3] = 0;
  const found = crc32c(trailer, crc32c(directory));
  if (found !== crc) damaged(`checksum ${crc.toString(16)} of its directory`, found.toString(16));
  const floats = new Float64Array(directory.buffer, 0, blocks[0] + blocks[1] + pieces);
  return {
    width,
    tokens,
    lines,
    words: textWords,
    bytes,
    idPlaces: floats.subarray(0, blocks[0]),
    endPlaces: floats.subarray(blocks[0], blocks[0] + blocks[1]),
    counts: floats.subarray(blocks[0] + blocks[1]),
    crcs: new Uint32Array(directory.buffer, floats.byteLength),
  };
}

/** What becomes of damage that shows only when a block is read. */
export interface TokenRescue {
  /** The ids of the text's lines from one of them on, made again. */
  linesFrom(line: number): Iterable<ArrayLike<number>>;
  /** Told which block was damaged, and whether it could be made again. */
  onDamage(block: string, remade: boolean): void;
}

/** Tokens in a file: windows of its blocks are read when they are asked for, each block checked. */
export class TokenFile implements TextTokens {
  readonly ids: TextTokens["ids"];
  readonly lines: number;
  readonly words: number;
  readonly bytes: number | undefined;
  readonly #source: ByteSource;
  readonly #contents: Contents;
  readonly #damaged: Damaged;
  readonly #rescue: TokenRescue | undefined;
  readonly #idBlocks: KeptBlocks<Ids>;
  readonly #endBlocks: KeptBlocks<Float64Array>;

  /** `name` is who complains in errors. */
  constructor(source: ByteSource, name: string, rescue?: TokenRescue) {
    this.#damaged = damagedAt(name);
    this.#source = source;
    this.#contents = contentsOf(source, this.#damaged);
    this.#rescue = rescue;
    const { tokens, lines, words, bytes, width } = this.#contents;
    this.lines = lines;
    this.words = words;
    this.bytes = bytes || undefined;
    this.#idBlocks = new KeptBlocks(KEPT_BYTES / (BLOCK_IDS * width), (index) => this.#readIds(index));
    this.#endBlocks = new KeptBlocks(4, (index) => this.#readEnds(index));
    this.ids = { length: tokens, copy: (from, count, out, at) => this.#copy(from, count, out, at) };
  }

  /** Pieces of the vocabulary it was made with. */
  get pieces(): number {
    return this.#contents.counts.length;
  }

  counts(pieces: number): Float64Array {
    const counts = new Float64Array(pieces);
    counts.set(this.#contents.counts.subarray(0, pieces));
    return counts;
  }

  lineEnd(line: number): number {
    return this.#endBlocks.at(Math.floor(line / BLOCK_LINES))[line % BLOCK_LINES]!;
  }

  #copy(from: number, count: number, out: Int32Array, at: number): void {
    if (from < 0 || from + count > this.ids.length) {
      reject({ who: "token file", needed: `places below ${this.ids.length}`, got: `${from} to ${from + count}` });
    }
    for (let done = 0; done < count; ) {
      const block = this.#idBlocks.at(Math.floor((from + done) / BLOCK_IDS));
      const first = (from + done) % BLOCK_IDS;
      const step = Math.min(count - done, block.length - first);
      for (let i = 0; i < step; i++) out[at + done + i] = block[first + i]!;
      done += step;
    }
  }

  #readIds(index: number): Ids {
    const { width, tokens, idPlaces, crcs, counts } = this.#contents;
    const first = index * BLOCK_IDS;
    const block = idsArray(width, Math.min(BLOCK_IDS, tokens - first));
    const whole = this.#source.read(idPlaces[index]!, bytesOf(block)) && crc32c(bytesOf(block)) === crcs[index];
    if (!whole) return this.#rescued(first, block, crcs[index]!, `block ${index}`);
    if (block.every((id: number) => id >= 0 && id < counts.length)) return block;
    return this.#damaged(`ids below ${counts.length}`, `others in block ${index}`);
  }

  /** A damaged block, made again from the text: the checksum tells whether it is the one that was written. */
  #rescued(first: number, block: Ids, crc: number, name: string): Ids {
    if (this.#rescue) this.#remake(first, block, this.#rescue);
    const remade = this.#rescue !== undefined && crc32c(bytesOf(block)) === crc;
    this.#rescue?.onDamage(name, remade);
    return remade ? block : this.#damaged("whole blocks", `a damaged one, ${name}`);
  }

  #remake(first: number, block: Ids, { linesFrom }: TokenRescue): void {
    const line = this.#lineAt(first);
    let at = line > 0 ? this.lineEnd(line - 1) : 0;
    block.fill(0);
    for (const ids of linesFrom(line)) {
      for (let i = 0; i < ids.length; i++, at++) if (at >= first) block[at - first] = ids[i]!; // beyond the end: nothing
      if (at >= first + block.length) return;
    }
  }

  /** The first line that ends beyond a place. */
  #lineAt(place: number): number {
    let [low, high] = [0, this.lines - 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.lineEnd(middle) > place) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #readEnds(index: number): Float64Array {
    const { lines, endPlaces, idPlaces, crcs } = this.#contents;
    const block = new Float64Array(Math.min(BLOCK_LINES, lines - index * BLOCK_LINES));
    const crc = crcs[idPlaces.length + index];
    if (this.#source.read(endPlaces[index]!, bytesOf(block)) && crc32c(bytesOf(block)) === crc) return block;
    this.#rescue?.onDamage(`block ${index} of line ends`, false);
    return this.#damaged("whole blocks", `a damaged one of line ends, block ${index}`);
  }
}

/** The blocks that were read last; the one not read for longest makes room. */
class KeptBlocks<A> {
  readonly #kept = new Map<number, A>();
  readonly #most: number;
  readonly #read: (index: number) => A;
  #last = -1;
  #block: A | undefined;

  constructor(most: number, read: (index: number) => A) {
    this.#most = most;
    this.#read = read;
  }

  at(index: number): A {
    if (index === this.#last) return this.#block!;
    const known = this.#kept.get(index);
    const block = known ?? this.#read(index);
    this.#kept.delete(index);
    this.#kept.set(index, block);
    if (this.#kept.size > this.#most) this.#kept.delete(this.#kept.keys().next().value!);
    this.#last = index;
    this.#block = block;
    return block;
  }
}
