/** Probing classifiers: what a linear map reads out of a model's frozen states, after each depth. */
import { reject } from "../base/errors.ts";
import { type Engine, feedsFor } from "../engine/engine.ts";
import { greater, input, reshape, simplifyNamed } from "../graph/index.ts";
import { encodeByDepth } from "../model/albert/depth.ts";
import { averaged, textInputs } from "../model/albert/heads.ts";
import type { PieceTokenizer, SpecialIds } from "../text/masked/documents.ts";
import { alignWords } from "../text/probing/alignment.ts";
import type { ProbeSentence } from "../text/probing/probing.ts";
import type { ReadableAlbert } from "./depth-reader.ts";
import { fitLinear, scoresOf } from "./linear-fit.ts";

/** How well labels are read after a depth. */
export interface ProbeAccuracy {
  /** Iterations before the states were read; 0: the embeddings. */
  readonly depth: number;
  /** Of the sentences to judge by. */
  readonly accuracy: number;
  /** Of those it learnt from. */
  readonly training: number;
}

/** What probing classifiers found. */
export interface ProbeClassification {
  readonly classes: readonly string[];
  /** Sentences learnt from, and judged by. */
  readonly trained: number;
  readonly judged: number;
  /** Accuracy of the commonest class. */
  readonly commonest: number;
  readonly depths: readonly ProbeAccuracy[];
}

/** A model to probe, and how its texts are framed. */
export interface Probed extends ReadableAlbert {
  readonly tokenizer: PieceTokenizer;
  readonly special: SpecialIds;
  /** Longest text in pieces. */
  readonly length: number;
}

/** How the classifiers are trained. */
export interface ProbeClassifierOptions {
  /** Told how many sentences are read. */
  readonly onText?: ((done: number) => void) | undefined;
}

const ROWS = 16;
const isTraining = (split: string) => /^tr/i.test(split);

/**
 * Trains a softmax regression per depth on mean states of sentences (of the masked word, where one is named) whose split begins with
 * "tr", and judges it by the others. The model itself rests.
 */
export async function probeByDepth(
  engine: Engine,
  probed: Probed,
  sentences: readonly ProbeSentence[],
  { onText }: ProbeClassifierOptions = {},
): Promise<ProbeClassification> {
  const classes = [...new Set(sentences.map(({ label }) => label))].sort();
  const labels = sentences.map(({ label }) => classes.indexOf(label));
  const learns = sentences.map(({ split }) => isTraining(split));
  const [trained, judged] = [true, false].map((wanted) => learns.filter((each) => each === wanted).length);
  if (classes.length < 2 || !trained || !judged) {
    const got = `${classes.length} labels, ${trained} of split tr, ${judged} of others`;
    reject({
      code: "bad-data",
      who: "probe",
      needed: "sentences of two labels, some of split tr and some of va or te",
      got,
    });
  }
  const states = await statesOf(engine, probed, sentences, onText);
  const depths = states.map(({ depth, vectors }) => ({ depth, ...fitted(vectors, labels, learns, classes.length) }));
  return {
    classes,
    trained: trained!,
    judged: judged!,
    commonest: commonestShare(labels, learns, classes.length),
    depths,
  };
}

function commonestShare(labels: readonly number[], learns: readonly boolean[], classes: number): number {
  const count = (label: number, learnt: boolean) =>
    labels.filter((each, i) => each === label && learns[i] === learnt).length;
  const counts = Array.from({ length: classes }, (_, label) => count(label, true));
  return count(counts.indexOf(Math.max(...counts)), false) / learns.filter((each) => !each).length;
}

/** Mean states by depth: of each depth that can be read, a vector per sentence. */
async function statesOf(
  engine: Engine,
  { model, weights, ...framing }: Probed,
  sentences: readonly ProbeSentence[],
  onText: ProbeClassifierOptions["onText"],
): Promise<{ depth: number; vectors: Float32Array[] }[]> {
  const encoded = encodeByDepth(model, textInputs({ batch: "B", length: "T" }));
  const counted = input("counted", ["B", "T"], "int");
  const real = reshape(greater(counted, 0), [encoded.sequence.shape[0]!]);
  // A model of fixed depth shows where it begins and ends.
  const own = encoded.states.length > 1 ? encoded.states : [...encoded.states, encoded.sequence];
  const outputs = Object.fromEntries(own.map((sequence, i) => [`${i}`, averaged({ ...encoded, sequence, real })]));
  const program = await engine.compile({ outputs: simplifyNamed(outputs), weights });
  const depthOf = (i: number) => (encoded.states.length > 1 || i === 0 ? i : model.policy.depth);
  const found = own.map((_, i) => ({ depth: depthOf(i), vectors: [] as Float32Array[] }));
  try {
    const framed = sentences.map((sentence) => framedProbe(sentence, framing));
    for (let from = 0; from < framed.length; from += ROWS) {
      const some = framed.slice(from, from + ROWS);
      const results = await program.run(feedsFor(program, laidOut(some)));
      for (const [i, { vectors }] of found.entries()) {
        const { data, shape } = results[`${i}`]!;
        const width = shape[1]!;
        for (const row of some.keys()) vectors.push((data as Float32Array).slice(row * width, (row + 1) * width));
      }
      onText?.(from + some.length);
    }
  } finally {
    await program.release();
  }
  return found;
}

interface FramedProbe {
  readonly ids: Int32Array;
  /** Which tokens are looked at: all, or those of the masked words. */
  readonly counted: Int32Array;
}

/** [CLS] pieces [SEP], the pieces of the named words shown as [MASK]. */
function framedProbe(
  { words, masked = [] }: ProbeSentence,
  { tokenizer, special, length }: Omit<Probed, keyof ReadableAlbert>,
) {
  const aligned = alignWords(
    words.map((form) => ({ form, spaceAfter: true })),
    tokenizer,
  );
  const owners = [...aligned.words].slice(0, length - 2);
  const shown = owners.map((word, i) => (masked.includes(word) ? special.mask : aligned.ids[i]!));
  const ids = Int32Array.from([special.cls, ...shown, special.sep]);
  const isMasked = [0, ...owners.map((word) => Number(masked.includes(word))), 0];
  const counted = isMasked.includes(1) ? Int32Array.from(isMasked) : new Int32Array(ids.length).fill(1);
  return { ids, counted };
}

function laidOut(texts: readonly FramedProbe[]) {
  const length = Math.max(...texts.map(({ ids }) => ids.length));
  const laid = (of: (text: FramedProbe) => Int32Array) => {
    const data = new Int32Array(texts.length * length);
    for (const [row, text] of texts.entries()) data.set(of(text), row * length);
    return { data, shape: [texts.length, length] };
  };
  return {
    ids: laid(({ ids }) => ids),
    mask: laid(({ ids }) => new Int32Array(ids.length).fill(1)),
    types: laid(({ ids }) => new Int32Array(ids.length)),
    counted: laid(({ counted }) => counted),
  };
}

const DECAY = 1e-3;

/** Softmax regression on the vectors of sentences that are learnt from, and how often it is right. */
function fitted(
  vectors: readonly Float32Array[],
  labels: readonly number[],
  learns: readonly boolean[],
  classes: number,
): Omit<ProbeAccuracy, "depth"> {
  const training = vectors.flatMap((_, i) => (learns[i] ? i : []));
  const targets = training.map((i) => Array.from({ length: classes }, (_, k) => Number(k === labels[i])));
  const map = fitLinear({ vectors: training.map((i) => vectors[i]!), targets, kind: "single" }, DECAY);
  const guess = (i: number) => {
    const scores = scoresOf(map, vectors[i]!);
    return scores.indexOf(Math.max(...scores));
  };
  const right = (wanted: boolean) => {
    const some = labels.flatMap((label, i) => (learns[i] === wanted ? Number(guess(i) === label) : []));
    return some.reduce((a, b) => a + b, 0) / some.length;
  };
  return { accuracy: right(false), training: right(true) };
}
