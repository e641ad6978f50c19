/** Every parser of files that come from elsewhere: how a valid file is made, where its joints are, and how it is read. */
import { readFileSync } from "node:fs";
import { deflateRawSync, gzipSync } from "node:zlib";
import type { RandomStream } from "../../src/base/random.ts";
import { certifyCase } from "../../src/certify/certify.ts";
import { patternBlocks } from "../../src/depth/pattern.ts";
import { parsePlan } from "../../src/depth/plan.ts";
import { referenceEngine } from "../../src/engine/reference.ts";
import { parseJsonObject } from "../../src/files/json.ts";
import { crc32, crc32c, maskedCrc32c } from "../../src/format/crc.ts";
import { readNpy, writeNpy } from "../../src/format/npy.ts";
import { readPickle } from "../../src/format/pickle.ts";
import { ProtoWriter } from "../../src/format/protobuf.ts";
import { readSafetensors } from "../../src/format/safetensors.ts";
import { decodeExample, encodeExample, type Feature } from "../../src/format/tfexample.ts";
import { readRecords, writeRecords } from "../../src/format/tfrecord.ts";
import { readTorch } from "../../src/format/torch.ts";
import { openZip } from "../../src/format/zip.ts";
import { importAlbert } from "../../src/model/albert/import.ts";
import { importLlama } from "../../src/model/language/llama.ts";
import { parseState } from "../../src/runs/checkpoints.ts";
import { decodeEvents } from "../../src/runs/event-log.ts";
import { migrateRun } from "../../src/runs/migration.ts";
import { parseSettings, parseYaml, storedSettings } from "../../src/runs/settings-file.ts";
import { drawingsIn, encodeSummary } from "../../src/runs/tensorboard.ts";
import { languageSettings } from "../../src/tasks/language/settings.ts";
import { kindIn } from "../../src/tasks/run.ts";
import { searchSettings } from "../../src/tasks/search/settings.ts";
import { linesOfText } from "../../src/text/corpus.ts";
import { parseCounts } from "../../src/text/cutoffs.ts";
import { encodeTokens } from "../../src/text/files/old-token-file.contract.ts";
import { decodeTokens } from "../../src/text/files/old-token-file.ts";
import { linesOfFile } from "../../src/text/files/pairs.ts";
import { batchRecords, decodeBatchFile } from "../../src/text/files/records.ts";
import { bytesSource, TokenFile, TokenFileWriter } from "../../src/text/files/token-file.ts";
import { parseGlue } from "../../src/text/labelled/glue-examples.ts";
import { glueTasks } from "../../src/text/labelled/glue-tasks.ts";
import { decodePretraining, encodePretraining } from "../../src/text/masked/examples.ts";
import { parseConllu } from "../../src/text/probing/conllu.ts";
import { parseAgreement, parseProbe } from "../../src/text/probing/probing.ts";
import { writeCharsmap } from "../../src/text/sentencepiece/charsmap.ts";
import { defaultNormaliserSpec, defaultTrainerSpec, type Piece } from "../../src/text/sentencepiece/model.ts";
import { writeModel } from "../../src/text/sentencepiece/model-writer.ts";
import { loadTokenizer } from "../../src/text/tokenizer.ts";
import { zip } from "../zip.ts";
import { chance, damaged, edge, pick, stretched, twistedJson, twistedMessage } from "./mutations.ts";

/** A parser under attack. */
export interface Target {
  readonly name: string;
  /** A file that it takes. */
  valid(random: RandomStream): Uint8Array;
  /** Reads bytes as the toolkit does, and uses what came out. */
  read(bytes: Uint8Array): unknown;
  /** A file that is wrong at one of its joints. */
  twisted?(random: RandomStream): Uint8Array;
  /** Puts lengths and checksums right, so that what lies behind them is reached. */
  mended?(bytes: Uint8Array): Uint8Array;
  /** It is slow, and tried in one of so many rounds. */
  readonly oneIn?: number;
  /** Words of the format. */
  readonly words?: readonly string[];
}

const fixture = (name: string) => readFileSync(new URL(`../../fixtures/${name}`, import.meta.url));
const bytesOf = (text: string): Uint8Array => Buffer.from(text);
const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8");
const many = <T>(random: RandomStream, most: number, make: (i: number) => T): T[] =>
  Array.from({ length: random.integer(most + 1) }, (_, i) => make(i));
const letters = (random: RandomStream, most = 8) =>
  many(random, most, () => pick(random, [..."abcdé ▁z09.,\t"])).join("");

const DTYPES = ["F64", "F32", "F16", "BF16", "I64", "I32", "U8", "BOOL"];
const WIDTHS: Readonly<Record<string, number>> = { F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, U8: 1, BOOL: 1 };

function safetensorsFile(header: string, data: number): Uint8Array {
  const text = Buffer.from(header);
  const out = Buffer.alloc(8 + text.length + data);
  out.writeBigUInt64LE(BigInt(text.length));
  text.copy(out, 8);
  return out;
}

function safetensorsHeader(random: RandomStream): { header: string; data: number } {
  let at = 0;
  const entries = many(random, 4, (i): [string, unknown] => {
    const dtype = pick(random, DTYPES);
    const shape = many(random, 3, () => random.integer(4));
    const begin = at;
    at += shape.reduce((product, size) => product * size, WIDTHS[dtype]!);
    return [`${letters(random)}${i}`, { dtype, shape, data_offsets: [begin, at] }];
  });
  if (chance(random, 3)) entries.unshift(["__metadata__", { format: "pt" }]);
  return { header: JSON.stringify(Object.fromEntries(entries)), data: at };
}

const safetensors: Target = {
  name: "safetensors",
  words: ['"a":{"dtype":"U8","shape":[],"data_offsets":[0,0]},', '"__proto__":', "\\", '"', "[", "{"],
  valid: (random) => {
    const { header, data } = safetensorsHeader(random);
    return safetensorsFile(header, data);
  },
  twisted: (random) => {
    const { header, data } = safetensorsHeader(random);
    return safetensorsFile(twistedJson(header, random), data + (chance(random, 4) ? random.integer(9) : 0));
  },
  mended: (bytes) => {
    const out = Buffer.from(bytes);
    const end = out.lastIndexOf("}");
    if (end >= 8) out.writeBigUInt64LE(BigInt(end - 7));
    return out;
  },
  read: (bytes) => readSafetensors(bytes, "x.safetensors"),
};

function npyFile(header: string, data: Uint8Array, version = 1): Uint8Array {
  const length = version === 1 ? Buffer.alloc(2) : Buffer.alloc(4);
  const text = Buffer.from(header).subarray(0, version === 1 ? 65_535 : undefined);
  if (version === 1) length.writeUInt16LE(text.length);
  else length.writeUInt32LE(text.length);
  return Buffer.concat([Buffer.from("\x93NUMPY", "latin1"), Buffer.of(version, 0), length, text, data]);
}

const npy: Target = {
  name: "npy",
  words: ["'descr': '<f4'", "'fortran_order': True", "'shape': (", "1,", " ", "(", ")", "99999999999999999999,"],
  valid: (random) => {
    const shape = many(random, 4, () => random.integer(4));
    const data = new Float32Array(shape.reduce((product, size) => product * size, 1));
    return writeNpy({ dtype: "F32", shape, data });
  },
  twisted: (random) => {
    const shape = many(random, 4, () => (chance(random, 6) ? edge(random) : random.integer(4)));
    const header = `{'descr': '${pick(random, ["<f4", "<f8", "<i8", ">f4"])}', 'fortran_order': ${pick(random, ["True", "False"])}, 'shape': (${shape.join(",")},), }\n`;
    return npyFile(header, Buffer.alloc(random.integer(256)), pick(random, [1, 2, 3]));
  },
  mended: (bytes) => {
    const end = Buffer.from(bytes).lastIndexOf("}");
    return end < 10 ? bytes : npyFile(Buffer.from(bytes.subarray(10, end + 1)).toString(), bytes.subarray(end + 1), 2);
  },
  read: (bytes) => readNpy(bytes, "x.npy"),
};

const zipped = (random: RandomStream) =>
  zip(
    Object.fromEntries(
      many(random, 4, (i) => [`${i}${letters(random)}`, letters(random, 60).repeat(1 + random.integer(20))]),
    ),
  );

/** Right checksums for the members that can be found. */
function mendedZip(bytes: Uint8Array): Uint8Array {
  const out = Buffer.from(bytes);
  const end = out.lastIndexOf("PK\x05\x06");
  if (end < 0 || end + 22 > out.length) return out;
  let at = out.readUInt32LE(end + 16);
  for (let i = out.readUInt16LE(end + 10); i > 0 && at + 46 <= out.length; i--) {
    const [packed, header] = [out.readUInt32LE(at + 20), out.readUInt32LE(at + 42)];
    if (out.readUInt16LE(at + 10) === 0 && header + 30 <= out.length) {
      const start = header + 30 + out.readUInt16LE(header + 26) + out.readUInt16LE(header + 28);
      out.writeUInt32LE(crc32(out.subarray(start, start + packed)), at + 16);
    }
    at += 46 + out.readUInt16LE(at + 28) + out.readUInt16LE(at + 30) + out.readUInt16LE(at + 32);
  }
  return out;
}

const archive: Target = {
  name: "zip",
  oneIn: 2,
  words: ["PK\x01\x02", "PK\x03\x04", "PK\x05\x06"],
  valid: zipped,
  mended: mendedZip,
  /** A directory that names one member of zeros many times over. */
  twisted: (random) => {
    const size = edge(random) % 2 ** 20;
    return zip(
      Object.fromEntries(many(random, 60, (i) => [`${i}`, new Uint8Array(size % (1 + random.integer(65_536)))])),
    );
  },
  read: (bytes) => {
    const opened = openZip(bytes, "x.zip");
    return opened.names.map((name) => opened.read(name).length);
  },
};

const lengthOf = (text: string) => {
  const out = Buffer.alloc(4);
  out.writeUInt32LE(Buffer.byteLength(text, "latin1"));
  return out.toString("latin1");
};
const unicode = (text: string) => `X${lengthOf(text)}${text}`;
const int = (value: number) => {
  const out = Buffer.alloc(4);
  out.writeInt32LE(value | 0);
  return `J${out.toString("latin1")}`;
};
const STORAGES = [
  "FloatStorage",
  "DoubleStorage",
  "HalfStorage",
  "BFloat16Storage",
  "LongStorage",
  "IntStorage",
  "ByteStorage",
  "BoolStorage",
];

/** One tensor of a state dict in a pickle; `odd` may put something else in place of any argument. */
function pickledTensor(random: RandomStream, odd: (value: string) => string): string {
  const [rows, columns] = [1 + random.integer(3), 1 + random.integer(3)];
  const [a, b] = chance(random, 3) ? [1, rows] : [columns, 1];
  const number = (value: number) => odd(int(value));
  const type = odd(`ctorch\n${pick(random, STORAGES)}\n`);
  const key = odd(unicode(`${random.integer(2)}`));
  const storage = odd(`(${odd(unicode("storage"))}${type}${key}${odd(unicode("cpu"))}${number(9)}tQ`);
  const shape = odd(`${number(rows)}${number(columns)}\x86`);
  const strides = odd(`${number(a)}${number(b)}\x86`);
  return `ctorch._utils\n_rebuild_tensor_v2\n(${storage}${number(0)}${shape}${strides}\x89ccollections\nOrderedDict\n)RtR`;
}

const OPCODES = [
  "\x80\x02",
  "(",
  "0",
  "1",
  "2",
  "N",
  "\x88",
  "\x89",
  "K\x01",
  "J\0\0\0\0",
  "M\0\0",
  "\x8a\x01\xff",
  "G\0\0\0\0\0\0\0\0",
  "U\x01a",
  ")",
  "]",
  "}",
  "\x85",
  "\x86",
  "\x87",
  "t",
  "l",
  "a",
  "e",
  "s",
  "u",
  "q\0",
  "q\x01",
  "\x94",
  "h\0",
  "h\x01",
  "R",
  "\x81",
  "Q",
  "b",
  ".",
  "ctorch\nSize\n",
  "ccollections\nOrderedDict\n",
  "ctorch._utils\n_rebuild_tensor_v2\n",
  "ctorch._utils\n_rebuild_parameter\n",
  "ctorch\nFloatStorage\n",
  unicode("storage"),
  unicode("state_dict"),
  "\x8c\x05torch\x8c\x04Size\x93",
  "cos\nsystem\n",
];

const pickled = (random: RandomStream, odd: (value: string) => string = (value) => value) =>
  `\x80\x02}(${many(random, 3, (i) => odd(unicode(`w${i}`)) + pickledTensor(random, odd)).join("")}u.`;
const ODD_PICKLES = [
  "N",
  ")",
  "]",
  "}",
  "\x88",
  "K\x01",
  "G\x7f\xf8\0\0\0\0\0\0",
  unicode("x"),
  unicode(""),
  "(I\n",
  "ctorch\nFloatStorage\n",
  "]q\0h\0a",
];
const program = (random: RandomStream) => `${many(random, 60, () => pick(random, OPCODES)).join("")}.`;
const latin = (text: string): Uint8Array => Buffer.from(text, "latin1");
const twistedPickle = (random: RandomStream) => {
  const odd = (value: string) =>
    chance(random, 12) ? (chance(random, 2) ? int(edge(random)) : pick(random, ODD_PICKLES)) : value;
  return latin(chance(random, 3) ? program(random) : pickled(random, odd));
};

const pickle: Target = {
  name: "pickle",
  words: OPCODES,
  valid: (random) => latin(pickled(random)),
  twisted: twistedPickle,
  read: (bytes) =>
    readPickle(bytes, "x.pkl", {
      globals: {
        "torch.Size": (size: unknown) => size,
        "torch._utils._rebuild_tensor_v2": () => null,
        "torch.FloatStorage": 1,
        "collections.OrderedDict": () => new Map(),
      },
      persistent: (id) => id,
    }),
};

const torchFile = (data: Uint8Array) =>
  zip({ "m/data.pkl": data, "m/byteorder": "little", "m/data/0": new Uint8Array(72), "m/data/1": new Uint8Array(72) });

const torch: Target = {
  name: "torch",
  words: OPCODES,
  valid: (random) => torchFile(latin(pickled(random))),
  twisted: (random) => torchFile(twistedPickle(random)),
  mended: mendedZip,
  read: (bytes) => readTorch(bytes, "x.bin"),
};

/** Right checksums for the frames that can be found. */
function mendedRecords(bytes: Uint8Array): Uint8Array {
  const out = Buffer.from(bytes);
  for (let at = 0; at + 16 <= out.length; ) {
    const length = Number(out.readBigUInt64LE(at));
    out.writeUInt32LE(maskedCrc32c(out.subarray(at, at + 8)), at + 8);
    const end = at + 12 + length;
    if (!(end + 4 <= out.length)) break;
    out.writeUInt32LE(maskedCrc32c(out.subarray(at + 12, end)), end);
    at = end + 4;
  }
  return out;
}

const batchFile = (random: RandomStream) =>
  Buffer.concat([
    ...batchRecords(
      Int32Array.from({ length: 60 }, () => random.integer(300)),
      { batch: 2, window: 3 + random.integer(3) },
    ),
  ]);

/** Batches whose tensors list their values, or one that stands for all. */
const listedFile = (random: RandomStream) => {
  const shape = [2, chance(random, 8) ? edge(random) : 1 + random.integer(5)];
  const values = chance(random, 2)
    ? [7]
    : Array.from({ length: 2 * Math.min(9, shape[1]!) }, () => random.integer(300));
  const dims = (writer: ProtoWriter) => shape.map((size) => writer.message(2, (dim) => void dim.integer(1, size)));
  const tensor = new ProtoWriter().integer(1, 3).message(2, dims).packed(7, values).finish();
  return writeRecords(
    Array(1 + random.integer(40)).fill(encodeExample(new Map([["batch", { kind: "bytes", values: [tensor] }]]))),
  );
};

/** Records with another message in one of them, or in all. */
function twistedRecords(file: Uint8Array, random: RandomStream): Uint8Array {
  const records = [...readRecords(file, "")];
  const at = random.integer(records.length);
  const other = twistedMessage(records[at]!, random);
  const all = chance(random, 2);
  return writeRecords(records.map((record, i) => (all || i === at ? other : record)));
}

const batches: Target = {
  name: "batches",
  valid: (random) => (chance(random, 2) ? batchFile : listedFile)(random),
  twisted: (random) => twistedRecords((chance(random, 2) ? batchFile : listedFile)(random), random),
  mended: mendedRecords,
  read: (bytes) => decodeBatchFile(bytes, "x.tfrecords"),
};

const features = (random: RandomStream) => {
  const ints = Int32Array.from({ length: 8 }, () => random.integer(100));
  const masked = Int32Array.of(0, 3);
  return encodePretraining({
    inputIds: ints,
    inputMask: ints,
    segmentIds: ints,
    tokenBoundary: ints,
    maskedPositions: masked,
    maskedIds: masked,
    maskedWeights: Float32Array.of(1, 1),
    orderLabel: 1,
  });
};

const examples: Target = {
  name: "examples",
  valid: features,
  twisted: (random) => twistedMessage(features(random), random),
  read: (bytes) => [decodeExample(bytes, "x"), decodePretraining(bytes, "x")],
};

const example: Target = {
  name: "tf.Example",
  valid: (random) => {
    const kinds: readonly (() => Feature)[] = [
      () => ({ kind: "int", values: many(random, 9, () => edge(random)) }),
      () => ({ kind: "float", values: many(random, 9, () => random.uniform()) }),
      () => ({ kind: "bytes", values: many(random, 9, () => bytesOf(letters(random))) }),
    ];
    return encodeExample(new Map(many(random, 4, () => [letters(random), pick(random, kinds)()] as const)));
  },
  words: ["\x0a\0", "\x0a\x02\x0a\0", "\x1a\0"],
  read: (bytes) => decodeExample(bytes, "x"),
};

const records: Target = {
  name: "tfrecord",
  valid: (random) => writeRecords(many(random, 5, () => bytesOf(letters(random, 30)))),
  mended: mendedRecords,
  read: (bytes) => [...readRecords(bytes, "x.tfrecords")],
};

const tensorboard: Target = {
  name: "tensorboard",
  valid: (random) =>
    writeRecords(
      many(random, 3, (i) =>
        encodeSummary({ step: i, timeMs: i }, [
          { tag: letters(random), scalar: 1 },
          { tag: "h", histogram: Float32Array.of(1, 2) },
        ]),
      ),
    ),
  twisted: (random) =>
    writeRecords([
      twistedMessage(encodeSummary({ step: 1, timeMs: 2 }, [{ tag: "h", histogram: Float32Array.of(1, 2) }]), random),
    ]),
  mended: mendedRecords,
  read: (bytes) => drawingsIn(bytes, "x.tfevents", 10),
};

const RULES = new Map([
  ["A", "a"],
  ["ﬁ", "fi"],
  ["\t", " "],
  ["ab", ""],
]);

function pieceModel(random: RandomStream): Uint8Array {
  const texts = new Set(
    [..."abcdé▁", "▁a", "ab", "bc", ...many(random, 12, () => letters(random, 5))].filter((text) => text !== ""),
  );
  const kinds: Piece[] = [
    { text: "<unk>", score: 0, kind: "unknown" },
    { text: "<s>", score: 0, kind: "control" },
    { text: "</s>", score: 0, kind: "control" },
  ];
  const pieces: Piece[] = [...texts].map((text) => ({
    text,
    score: -random.integer(9),
    kind: chance(random, 9) ? "user" : "normal",
  }));
  return writeModel({
    pieces: [...kinds, ...pieces],
    trainer: { ...defaultTrainerSpec(), kind: pick(random, ["unigram", "bpe", "word", "char"]) },
    normaliser: { ...defaultNormaliserSpec(), charsmap: chance(random, 2) ? writeCharsmap(RULES) : new Uint8Array(0) },
    denormaliser: chance(random, 5) ? { ...defaultNormaliserSpec(), charsmap: writeCharsmap(RULES) } : undefined,
  });
}

const sentencepiece: Target = {
  name: "sentencepiece",
  oneIn: 3,
  words: ["\x0a\x03\x0a\x01a", "\x0a\0", "▁"],
  valid: pieceModel,
  twisted: (random) => twistedMessage(pieceModel(random), random),
  read: (bytes) => {
    const tokenizer = loadTokenizer(bytes, "x.model");
    const ids = tokenizer.encode("a bc ﬁ\tab 中 Aé");
    return [tokenizer.decode(ids), tokenizer.encodePieces("ab c"), tokenizer.normalise("A ﬁ")];
  },
};

const tokenFile: Target = {
  name: "token file",
  valid: (random) => {
    const ids = Uint16Array.from({ length: random.integer(20) }, () => random.integer(300));
    const writer = new TokenFileWriter(300);
    return Buffer.concat([
      ...writer.add({ ids, lineEnds: Uint32Array.of(ids.length), words: 3, bytes: 40 }),
      ...writer.finish(),
    ]);
  },
  mended: (bytes) => {
    const out = Buffer.from(bytes);
    if (out.length < 80) return out;
    const [trailer, size] = [out.subarray(-64), Math.min(out.readDoubleLE(out.length - 8), out.length - 64)];
    trailer.writeUInt32LE(0, 12);
    trailer.writeUInt32LE(crc32c(trailer, crc32c(out.subarray(out.length - 64 - Math.max(size, 0), -64))), 12);
    return out;
  },
  read: (bytes) => {
    const file = new TokenFile(bytesSource(bytes), "x.tokens");
    const out = new Int32Array(Math.min(file.ids.length, 100));
    file.ids.copy(0, out.length, out, 0);
    return [out, file.lines > 0 ? file.lineEnd(file.lines - 1) : 0, file.counts(300)];
  },
};

const tokens: Target = {
  name: "old token file",
  valid: (random) => {
    const ids = Uint16Array.from({ length: random.integer(20) }, () => random.integer(65_536));
    return encodeTokens({ ids, lineEnds: Uint32Array.of(ids.length), words: 3 });
  },
  mended: (bytes) => {
    const out = Buffer.from(bytes);
    if (out.length >= 32) out.writeUInt32LE(crc32c(out.subarray(16)), 12);
    return out;
  },
  read: (bytes) => decodeTokens(bytes, "x.tokens"),
};

const configs = ["language", "search", "retrain", "translate", "pretrain", "glue", "albert"].map((name) =>
  textOf(fixture(`runs/${name}/config.yaml`)),
);

const yaml: Target = {
  name: "config.yaml",
  oneIn: 20,
  words: [
    "constructor: 1\n",
    "__proto__: {}\n",
    "task: constructor\n",
    "task: [a]\n",
    "training: {command: constructor}\n",
    "&a ",
    "*a",
    "[",
    "{",
    "? ",
    "- ",
    "|\n",
    "!!set ",
    "<<: ",
    "%YAML 1.1\n---\n",
    "\n  ",
    "a: &a [*a]\n",
    ": ",
    "'",
    '"',
    "#",
  ],
  valid: (random) => bytesOf(pick(random, configs)),
  twisted: (random) => {
    const lines = pick(random, configs).split("\n");
    const key = random.integer(lines.length);
    lines[key] = `${lines[key]!.split(":")[0]}: ${twistedJson('{"a":[1,"x",{"b":null}]}', random).slice(0, 20_000)}`;
    return bytesOf(lines.join("\n"));
  },
  read: (bytes) => {
    const text = textOf(bytes);
    const readers = [
      () => kindIn(parseYaml(text, "config.yaml"), "run"),
      () => migrateRun(parseYaml(text, "config.yaml")),
      () => parseSettings(searchSettings, text, "x.yaml"),
      () => storedSettings(languageSettings, text, "config.yaml"),
    ];
    return readers[bytes.length % readers.length]!();
  },
};

/** Lets the toolkit's own errors pass, so that what follows is tried too. */
function caught(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && error.name === "LayerwiseError") return error;
    throw error;
  }
}

const json = (name: string, texts: readonly string[], read: (text: string) => unknown, oneIn = 1): Target => ({
  name,
  oneIn,
  words: ["constructor", "__proto__", "NaN", "[", "{", '"a":', "null", "1e999", "\\u0000"],
  valid: (random) => bytesOf(pick(random, texts)),
  twisted: (random) => bytesOf(twistedJson(pick(random, texts), random)),
  read: (bytes) => read(textOf(bytes)),
});

const eventLines = textOf(fixture("runs/language/events.jsonl")).trim().split("\n");
const events: Target = {
  ...json("events.jsonl", eventLines, (text) => decodeEvents(text.split("\n"))),
  valid: (random) => bytesOf(many(random, 6, () => pick(random, eventLines)).join("\n")),
};

const state = json("state.json", [textOf(fixture("runs/language/checkpoints/step-00000008/state.json"))], (text) =>
  parseState(text, "state.json"),
);

const weights = readTorch(fixture("albert/act/pytorch_model.bin"), "act.bin");
const albertTensors = new Map(
  [...weights].flatMap(([name, { shape, data }]) =>
    data instanceof Float32Array ? [[name, { shape, data }] as const] : [],
  ),
);
const albertConfig = json(
  "config.json",
  [textOf(fixture("albert/act/config.json"))],
  (text) => importAlbert(albertTensors, parseJsonObject(text, "config.json"), "x.bin"),
  20,
);

const llamaText =
  '{"model_type":"llama","vocab_size":30,"hidden_size":8,"num_attention_heads":2,"num_key_value_heads":1,"intermediate_size":16,"num_hidden_layers":2,"hidden_act":"silu","rope_parameters":{"rope_theta":10000},"tie_word_embeddings":true,"max_position_embeddings":16}';
const llamaTensors = new Map([["model.embed_tokens.weight", { shape: [30, 8], data: new Float32Array(240) }]]);
const llamaConfig = json(
  "llama config.json",
  [llamaText],
  (text) => importLlama(llamaTensors, parseJsonObject(text, "config.json"), { length: 16 }),
  20,
);

const goldenTensors = readSafetensors(fixture("optimisers/adamw.safetensors"), "").tensors;
const golden = json(
  "golden case",
  [textOf(fixture("optimisers/adamw.json"))],
  async (text) => {
    const about = parseJsonObject(text, "case.json");
    const verdict = await certifyCase(
      { folder: "f", name: "case", system: "optimisers", about, tensors: goldenTensors },
      referenceEngine(),
    );
    if (verdict.reason && !/: expected |^nothing was/.test(verdict.reason)) throw new TypeError(verdict.reason);
  },
  10,
);

const table = (
  name: string,
  valid: (random: RandomStream) => string,
  read: (text: string) => unknown,
  words: readonly string[] = [],
): Target => ({
  name,
  words: ["\t", "\n", "\r\n", ",", '"', " ", "\u2028", "\ufeff", ...words],
  valid: (random) => bytesOf(valid(random)),
  read: (bytes) => read(textOf(bytes)),
});

const tasks = [...glueTasks.values()];
const glue = table(
  "GLUE",
  (random) =>
    [
      "index\tsentence\tlabel",
      ...many(random, 5, () => `${letters(random)}\t${letters(random, 30)}\t${random.integer(3)}`),
    ].join("\n"),
  (text) => tasks.map((task) => caught(() => parseGlue(linesOfText(text), task, "train", { source: "train.tsv" }))),
);

const conllu = table(
  "CoNLL-U",
  (random) =>
    many(random, 5, (i) => [i + 1, letters(random), "_", "X", "_", "_", 0, "dep", "_", "_"].join("\t")).join("\n"),
  (text) => parseConllu(text, "x.conllu"),
  ["1-2\ta\t_\t_\t_\t_\t_\t_\t_\t_\n", "1.1\t", "\n\n", "9999999999999-2\t"],
);

const probes = table(
  "probes",
  (random) =>
    `split,orig_sentence,n_intervening,distance,verb_pos,verb_index\n${many(random, 4, () => `tr,"${letters(random, 20)}",0,1,VBZ,1`).join("\n")}`,
  (text) => [caught(() => parseProbe(text)), caught(() => parseAgreement(text))],
  ['""', '",'],
);

const counts = table(
  "counts",
  (random) => many(random, 9, () => `${random.integer(99)}`).join("\n"),
  (text) => parseCounts(text, "counts"),
);
const notation = table(
  "patterns and plans",
  (random) => pick(random, ["(sfff)x6(f)x8", "baseline/12", "s f:1024 i", "0,1,2,2,1,0", "par-base/8"]),
  (text) => [caught(() => patternBlocks(text)), caught(() => parsePlan(text))],
  ["(sf)x9999", "constructor", "s", "(", ")x2", "0,", "/", "f:9"],
);

const pairs: Target = {
  name: "pairs",
  oneIn: 20,
  words: ["\r\n", "\xff"],
  valid: (random) => gzipSync(letters(random, 60).repeat(1 + random.integer(40))),
  twisted: (random) =>
    Buffer.concat([
      Buffer.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3),
      deflateRawSync(Buffer.alloc(edge(random) % 2 ** 25)),
      damaged(Buffer.alloc(8), random),
    ]),
  read: (bytes) => [
    caught(() => linesOfFile("train.en.gz", () => Buffer.from(bytes))),
    linesOfFile("train.en", () => Buffer.from(bytes)),
  ],
};

/** All of them. */
export const targets: readonly Target[] = [
  safetensors,
  npy,
  archive,
  pickle,
  torch,
  records,
  batches,
  example,
  examples,
  tensorboard,
  sentencepiece,
  tokenFile,
  tokens,
  yaml,
  events,
  state,
  albertConfig,
  llamaConfig,
  golden,
  glue,
  conllu,
  probes,
  counts,
  notation,
  pairs,
];

/** Input `index` of a parser: the same for the same seed, wherever a run began. */
export function inputOf(target: Target, random: RandomStream): Uint8Array {
  if (chance(random, 100)) return mended(target, stretched(target.valid(random), random, target.words));
  const way = random.integer(8);
  const whole = target.twisted && way < 4 ? target.twisted(random) : target.valid(random);
  const isWhole = way === 0 || way === 4 || (way < 4 && chance(random, 2));
  const bytes = isWhole ? whole : damaged(whole, random, target.words);
  return chance(random, 2) ? mended(target, bytes) : bytes;
}

const mended = (target: Target, bytes: Uint8Array) => target.mended?.(bytes) ?? bytes;
