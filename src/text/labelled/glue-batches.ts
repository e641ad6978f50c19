/** Texts of GLUE as the model reads them: [CLS] a [SEP] b [SEP], and batches of texts that are about equally long. */
import { reject } from "../../base/errors.ts";
import { RandomStream } from "../../base/random.ts";
import {
  normaliseForAlbert,
  type PieceTokenizer,
  type SpecialIds,
  sentenceEncoder,
  specialIds,
} from "../masked/documents.ts";
import type { TextExample } from "./text-task.ts";

/** An example as ids, framed by special pieces. */
export interface EncodedExample {
  readonly ids: Int32Array;
  /** Where the second segment begins; the length where there is none. */
  readonly second: number;
  readonly label: number;
  /** Indices of its classes, where it may have several. */
  readonly classes?: readonly number[];
}

/** [rows, length] each but the labels, row after row. */
export interface GlueBatch {
  readonly ids: Int32Array;
  readonly mask: Int32Array;
  readonly types: Int32Array;
  readonly labels: Int32Array | Float32Array;
  readonly length: number;
}

/** Encodes examples; long texts are cut at their ends, pairs from the longer one. */
export function encodeGlue(
  examples: readonly TextExample[],
  tokenizer: PieceTokenizer,
  length: number,
  onStep?: (done: number) => void,
): EncodedExample[] {
  const encode = sentenceEncoder(tokenizer);
  const special = specialIds(tokenizer);
  return examples.map(({ texts, ...labelled }, i) => {
    onStep?.(i);
    const sides = texts.map((text) => [...encode(normaliseForAlbert(text))]);
    return { ...framed(sides, special, length), label: labelled.label, ...classesOf(labelled) };
  });
}

const classesOf = ({ classes }: Pick<TextExample, "classes">) => (classes === undefined ? {} : { classes });

/** [CLS] a [SEP], or [CLS] a [SEP] b [SEP], of at most `length` pieces. */
export function framed(
  sides: readonly number[][],
  { cls, sep }: SpecialIds,
  length: number,
): Omit<EncodedExample, "label"> {
  const room = length - 1 - sides.length;
  if (room < sides.length) {
    reject({ who: "glue", needed: `a length of at least ${2 * sides.length + 1}`, got: `${length}` }, 2);
  }
  const [a, b] = truncated(sides, room);
  const ids = [cls, ...a!, sep, ...(b ? [...b, sep] : [])];
  return { ids: Int32Array.from(ids), second: a!.length + 2 };
}

/** Pops from the longer side, from the second where both are equal, until both fit. */
function truncated(sides: readonly number[][], room: number): number[][] {
  const kept = sides.map((side) => [...side]);
  const [a, b = []] = kept as [number[], number[]?];
  while (a.length + b.length > room) (a.length > b.length ? a : b).pop();
  return kept;
}

/** Lengths are rounded up to a multiple of this, so that few shapes come. */
export const LENGTH_UNIT = 8;
/** Batches whose examples are sorted together: more make equal lengths likelier and the order less random. */
const POOL = 50;

/** Sizes of a batch and the order of its texts. */
export interface BatchOptions {
  rows: number;
  /** Longest text. */
  length: number;
  /** Id of padding. */
  pad: number;
  /** Labels are numbers, not classes. */
  regression: boolean;
  /** How many classes there are, where a text may have several: labels are [rows, several], 1 for each class of the text. */
  several?: number | undefined;
}

/**
 * The batches of an epoch in training: lengths are alike within a batch, the order is random. What does not fill a batch is left out,
 * other examples each epoch.
 */
export function epochBatches(
  examples: readonly EncodedExample[],
  rows: number,
  seed: number,
  epoch: number,
): EncodedExample[][] {
  const random = new RandomStream(seed, `glue epoch ${epoch}`);
  const shuffled = random.shuffle([...examples]);
  while (shuffled.length < rows) shuffled.push(shuffled[random.integer(examples.length)]!);
  const kept = shuffled.slice(0, shuffled.length - (shuffled.length % rows));
  const pools = cut(kept, POOL * rows).map((pool) => pool.sort((a, b) => a.ids.length - b.ids.length));
  return random.shuffle(pools.flatMap((pool) => cut(pool, rows)));
}

/** How many batches an epoch has. */
const batchesInEpoch = (examples: number, rows: number) => Math.max(1, Math.floor(examples / rows));

/** Places of all examples, those of equal length together; the last batch may have fewer. */
export function evaluationBatches(examples: readonly EncodedExample[], rows: number): number[][] {
  const order = examples.map((_, i) => i).sort((a, b) => examples[a]!.ids.length - examples[b]!.ids.length || a - b);
  return cut(order, rows);
}

/** Batches for training by their place over all epochs, each of which is drawn again, in the form the loop takes. */
export function trainingBatches(examples: readonly EncodedExample[], options: BatchOptions & { seed: number }) {
  const { rows, seed } = options;
  const count = batchesInEpoch(examples.length, rows);
  const pieces = examples.reduce((total, { ids }) => total + ids.length, 0);
  let drawn: { epoch: number; batches: EncodedExample[][] } | undefined;
  return {
    count,
    rows,
    tokens: Math.round((rows * pieces) / examples.length),
    fresh: true,
    at: (place: number) => {
      const epoch = Math.floor(place / count);
      if (drawn?.epoch !== epoch) drawn = { epoch, batches: epochBatches(examples, rows, seed, epoch) };
      const { ids, mask, types, labels } = layOut(drawn.batches[place % count]!, options);
      return { ids, mask, types, labels };
    },
  };
}

function cut<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}

/** Lays examples out, padded to the longest, rounded up; rows that are missing repeat the last example. */
export function layOut(
  examples: readonly EncodedExample[],
  { rows, length: most, pad, regression, several }: BatchOptions,
): GlueBatch {
  const longest = Math.max(...examples.map(({ ids }) => ids.length));
  const length = Math.min(most, Math.ceil(longest / LENGTH_UNIT) * LENGTH_UNIT);
  const ids = new Int32Array(rows * length).fill(pad);
  const [mask, types] = [new Int32Array(rows * length), new Int32Array(rows * length)];
  const labels = regression || several ? new Float32Array(rows * (several ?? 1)) : new Int32Array(rows);
  for (let row = 0; row < rows; row++) {
    const example = examples[Math.min(row, examples.length - 1)]!;
    const [start, end] = [row * length, row * length + example.ids.length];
    ids.set(example.ids, start);
    mask.fill(1, start, end);
    types.fill(1, start + example.second, end);
    if (several) for (const each of example.classes ?? []) labels[row * several + each] = 1;
    else labels[row] = example.label;
  }
  return { ids, mask, types, labels, length };
}
