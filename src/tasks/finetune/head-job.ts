/** The job of training a head of another kind than classes: tags, answers or choices out of files, in a run folder. */
import { reject } from "../../base/errors.ts";
import { sha256 } from "../../files/checksum.ts";
import { readChoices, readConll, readSquad } from "../../text/files/labelled.ts";
import type { ChoiceQuestion } from "../../text/labelled/choices.ts";
import type { Question } from "../../text/labelled/questions.ts";
import { type TaggedSentence, tagsIn } from "../../text/labelled/tagged.ts";
import type { TextTask } from "../../text/labelled/text-task.ts";
import type { Weights } from "../../train/stages.ts";
import type { Tell } from "../../train/telling.ts";
import { defaultEngine } from "../engine.ts";
import type { Fact, Handed, Job } from "../job.ts";
import { type AlbertSource, albertFrom } from "../pretrain/origin.ts";
import { lengthFor } from "./examples.ts";
import { answersOf } from "./head-answers.ts";
import { headBatches, type OpenedHead } from "./head-batches.ts";
import type { HeadAnswer, HeadInput, HeadKind, HeadSpec } from "./head-spec.ts";
import { answering, choosing, type HeadTask, tagging } from "./head-tasks.ts";
import { trainableHead } from "./head-training.ts";
import { openModel } from "./model.ts";
import type { GlueSettings } from "./settings.ts";
import { type Before, type TunedParts, type TunedResult, type Tuning, tunedFacts, tunedJob } from "./tuned-job.ts";

export { type HeadAnswer, type HeadInput, type HeadKind, type HeadSpec, headKinds } from "./head-spec.ts";

/** A task on any examples: a table of kinds has one type for all. */
export type AnyHeadTask = HeadTask<HeadInput, HeadAnswer>;

interface Kind<X extends HeadInput> {
  spec(train: readonly X[]): Omit<HeadSpec, "kind">;
  task(spec: HeadSpec): unknown;
  /** Refuses what the task does not know, by file and line; without a task any is taken. */
  read(file: string, spec?: HeadSpec): X[];
}

const kinds: {
  readonly tagging: Kind<TaggedSentence>;
  readonly qa: Kind<Question>;
  readonly choice: Kind<ChoiceQuestion>;
} = {
  tagging: {
    spec: (train) => ({ labels: tagsIn(train) }),
    task: ({ labels }) => tagging({ labels: labels! }),
    read: (file, spec) => readConll(file, { tags: spec?.labels }),
  },
  qa: {
    spec: (train) => ({ unanswerable: train.some(({ answers }) => answers.length === 0) }),
    task: ({ unanswerable }) => answering({ unanswerable }),
    read: (file) => readSquad(file),
  },
  choice: {
    spec: (train) => ({ choices: train[0]!.choices.length }),
    task: ({ choices }) => choosing({ choices: choices! }),
    read: (file, spec) => readChoices(file, { choices: spec?.choices }),
  },
};

const kindOf = (kind: HeadKind) => kinds[kind] as unknown as Kind<HeadInput>;

/** The task that a spec describes. */
export const headTaskOf = (spec: HeadSpec): AnyHeadTask => kindOf(spec.kind).task(spec) as AnyHeadTask;

/** Reads a file of examples for a task that is known. */
export const readHeadFile = (file: string, spec: HeadSpec): HeadInput[] => kindOf(spec.kind).read(file, spec);

/** Where examples stand. */
export interface HeadFiles {
  readonly train: string;
  readonly dev: string;
}

/** A head's training, opened with its model and examples. */
export interface HeadParts extends TunedParts {
  readonly spec: HeadSpec;
  readonly files: HeadFiles;
  readonly train: readonly HeadInput[];
  readonly dev: readonly HeadInput[];
  readonly say?: Handed["say"];
}

/** What is handed over. */
export interface HeadGiven extends Handed, HeadFiles {
  /** The ALBERT to begin with. Default: new weights. */
  readonly from?: AlbertSource | undefined;
  readonly fromStep?: number | undefined;
}

/** Reads both files, and opens model and engine. */
export async function openHead(kind: HeadKind, settings: GlueSettings, given: HeadGiven): Promise<HeadParts> {
  const { from, fromStep: step, say, train: file, dev } = given;
  if (settings.headStart === "fitted") {
    const needed = "classes or numbers of whole texts for a head that is fitted";
    reject({ who: "finetune / head-start", needed, got: kind, remedy: "leave --head-start out" }, 2);
  }
  if (settings.exitDepths === "drawn") {
    const needed = "classes or numbers of whole texts for depths that are drawn";
    reject({ who: "finetune / exit-depths", needed, got: kind, remedy: "leave --exit-depths out" }, 2);
  }
  if (settings.pooling !== "first") {
    const needed = "classes or numbers of whole texts for --pooling";
    reject({ who: "finetune / pooling", needed, got: kind, remedy: "leave --pooling out" }, 2);
  }
  const train = kindOf(kind).read(file);
  const spec = { kind, ...kindOf(kind).spec(train) };
  checkSpec(spec, file);
  const judged = readHeadFile(dev, spec);
  const known = from === undefined ? undefined : await albertFrom(from, { step, say });
  const model = await openModel(withDropout(headTaskOf(spec), settings), settings, known, { say });
  const engine = given.engine ?? (await defaultEngine(settings));
  return { spec, settings, model, engine, files: { train: file, dev }, train, dev: judged, say };
}

function checkSpec({ kind, labels = [] }: HeadSpec, who: string): void {
  if (kind !== "tagging" || labels.length > 1) return;
  reject({ code: "bad-data", who, needed: "words of at least two tags", got: labels.join(", ") || "none" });
}

function withDropout({ heads }: AnyHeadTask, { classifierDropout: dropout }: GlueSettings): AnyHeadTask["heads"] {
  const { tokenClassification, multipleChoice } = heads;
  if (tokenClassification) return { tokenClassification: { ...tokenClassification, dropout } };
  return multipleChoice ? { multipleChoice: { ...multipleChoice, dropout } } : heads;
}

/** The head with what it reads and scores with. */
export function openedHead({ spec, settings, model, engine }: Omit<HeadParts, "train" | "dev" | "files">) {
  const { described, tokenizer } = model;
  const { batch, seed } = settings;
  const length = lengthFor(settings, model);
  const task = headTaskOf(spec);
  return { task, described, tokenizer: tokenizer.tokenizer, engine, length, batch, seed } satisfies OpenedHead<
    HeadInput,
    HeadAnswer
  >;
}

/** What such a training ends with. */
export interface HeadResult extends TunedResult {
  readonly spec: HeadSpec;
  /** What the best epoch's weights say. */
  predict(examples: readonly HeadInput[]): Promise<HeadAnswer[]>;
}

/** What `training.command` says in config.yaml. */
export const HEAD_COMMAND = "head";

/** The job that trains it. */
export function headJob(parts: HeadParts, before?: Before): Job<HeadResult> {
  const { spec, files, train: examples, dev } = parts;
  const opened = openedHead(parts);
  const tuning: Tuning<Pick<HeadResult, "spec" | "predict">> = {
    objective: trainableHead(opened).objective,
    batches: headBatches(opened, examples, parts.say),
    task: namedTask(spec),
    training: { command: HEAD_COMMAND, spec, files },
    text: sha256(JSON.stringify([examples, dev])),
    describe: () => describe(parts),
    judging: () => ({ judge: (weights, tell) => judge(parts, weights, tell) }),
    uses: (weights) => ({
      spec,
      predict: async (asked) => [...(await answersOf(opened, weights, asked)).answers],
    }),
  };
  return tunedJob(parts, tuning, before);
}

/** Its name and what decides, as results keep it. */
export const namedTask = (spec: HeadSpec): TextTask => {
  const { decisive } = headTaskOf(spec);
  const places = spec.choices === undefined ? null : Array.from({ length: spec.choices }, (_, i) => `${i}`);
  return { name: spec.kind, labels: spec.labels ?? places, metrics: [decisive === "f1" ? "f1" : "accuracy"] };
};

async function judge(parts: HeadParts, weights: Weights, tell?: Tell) {
  const { dev } = parts;
  const opened = openedHead(parts);
  const { loss, answers } = await answersOf(opened, weights, dev, { tell });
  const { task } = opened;
  return { loss, tokens: dev.length, scalars: task.figures(dev, answers), decisive: task.decisive };
}

function describe(parts: HeadParts): Fact[] {
  const { spec, train, dev } = parts;
  const about = spec.labels ? ` (${spec.labels.length} tags)` : spec.choices ? ` (of ${spec.choices})` : "";
  return tunedFacts(parts, { task: `${spec.kind}${about}`, what: "examples", train, dev });
}
