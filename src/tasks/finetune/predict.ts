/** A fine-tuned run at use: figures of a split, and submission files under the names the benchmark wants. */
import { join } from "node:path";
import { reject } from "../../base/errors.ts";
import { startProgress } from "../../base/progress.ts";
import { writeAtomically } from "../../files/atomic.ts";
import type { CheckpointChoice } from "../../runs/folder.ts";
import { hasGlueFile, readGlue } from "../../text/files/glue.ts";
import { encodeGlue } from "../../text/labelled/glue-batches.ts";
import type { GlueExample } from "../../text/labelled/glue-examples.ts";
import { type GlueTask, glueTask, RANGE, type Submission } from "../../text/labelled/glue-tasks.ts";
import { specialIds } from "../../text/masked/documents.ts";
import { defaultEngine } from "../engine.ts";
import { type AlbertRun, needTokenizer, openAlbertRun } from "../pretrain/albert-run.ts";
import { Classifier, glueFigures, guessesOf, type Scored } from "./classifier.ts";
import { glueFolder } from "./job.ts";
import { glueSchema } from "./settings.ts";

export interface UseFlags {
  glue?: string;
  split: string;
  threads?: number;
  checkpoint?: CheckpointChoice;
}

export interface Written {
  readonly file: string;
  readonly texts: number;
}

/** The task a run was fine-tuned on. */
function taskOf({ config, path }: AlbertRun): GlueTask {
  const name = config.training?.glueTask;
  if (typeof name === "string") return glueTask(name);
  const remedy = "make one with `layerwise glue TASK --from …`";
  return reject({ who: path, needed: "a run fine-tuned on GLUE", got: "another ALBERT", remedy }, 2);
}

/** Lines of a submission: classes by name, numbers within their range. */
export function submission(
  task: GlueTask,
  examples: readonly GlueExample[],
  scored: Pick<Scored, "scores" | "classes">,
) {
  const [least, most] = RANGE;
  const said = (guess: number) =>
    task.labels ? task.labels[guess]! : Math.min(most, Math.max(least, guess)).toFixed(3);
  const lines = Array.from(guessesOf(scored, task), (guess, i) => `${examples[i]!.index}\t${said(guess)}`);
  return `${["index\tprediction", ...lines].join("\n")}\n`;
}

/** Which files to write: the benchmark's, or one of another split to look at. */
function submissionsOf(task: GlueTask, split: string): readonly Submission[] {
  return split === "test" ? task.submissions : [{ task: task.name, split, file: `${task.name}-${split}.tsv` }];
}

type Say = (text: string) => void;

/** A run, opened with what scores texts for it. */
interface OpenGlueRun {
  readonly task: GlueTask;
  readonly folder: string;
  /** Examples of a split, with their scores. */
  score(source: GlueTask, split: string): Promise<Scored & { examples: readonly GlueExample[] }>;
}

async function withRun<T>(path: string, flags: UseFlags, say: Say, use: (run: OpenGlueRun) => Promise<T>): Promise<T> {
  const run = await openAlbertRun(path, flags.checkpoint);
  run.warnings.forEach(say);
  const task = taskOf(run);
  const known = { ...glueSchema.defaults, ...run.config.training };
  const folder = flags.glue ?? glueFolder(known);
  const engine = await defaultEngine({ threads: flags.threads ?? null, device: "cpu" });
  const classifier = await Classifier.create(engine, run);
  const score = async (source: GlueTask, split: string) => {
    const examples = numbered(readGlue(source, split, folder, { warn: say }), split);
    return { examples, ...(await scoresOf(run, classifier, examples, known.length, `${source.name} ${split}`)) };
  };
  try {
    return await use({ task, folder, score });
  } finally {
    await classifier.release();
  }
}

/** Writes all files whose texts are there; those of the first must be. */
export function predictGlue(path: string, flags: UseFlags & { out: string }, say: Say): Promise<Written[]> {
  return withRun(path, flags, say, async ({ task, folder, score }) => {
    const written: Written[] = [];
    for (const each of submissionsOf(task, flags.split)) {
      const source = glueTask(each.task);
      if (written.length > 0 && !hasGlueFile(source, each.split, folder)) {
        say(`${each.file} is left out: its texts are not under ${folder}`);
        continue;
      }
      const { examples, ...scored } = await score(source, each.split);
      const file = join(flags.out, each.file);
      await writeAtomically(file, submission(source, examples, scored));
      written.push({ file, texts: examples.length });
    }
    return written;
  });
}

export interface Measured {
  readonly task: string;
  readonly split: string;
  readonly texts: number;
  readonly loss: number;
  readonly figures: Readonly<Record<string, number>>;
}

/** Loss, metrics and mean depth of a split with labels. */
export function measureGlue(path: string, flags: UseFlags, say: Say): Promise<Measured> {
  if (flags.split.startsWith("test")) {
    reject(
      { who: "--split", needed: "a split with labels", got: flags.split, remedy: "see layerwise glue predict" },
      2,
    );
  }
  return withRun(path, flags, say, async ({ task, score }) => {
    const { examples, ...scored } = await score(task, flags.split);
    return { task: task.name, split: flags.split, texts: examples.length, ...glueFigures(task, scored, examples) };
  });
}

/** Test files name their texts; others are counted. */
function numbered(examples: readonly GlueExample[], split: string): readonly GlueExample[] {
  return split.startsWith("test") ? examples : examples.map((example, i) => ({ ...example, index: `${i}` }));
}

async function scoresOf(
  run: AlbertRun,
  classifier: Classifier,
  examples: readonly GlueExample[],
  length: number,
  what: string,
): Promise<Scored> {
  const { tokenizer } = needTokenizer(run);
  const encoded = encodeGlue(examples, tokenizer, Math.min(length, run.model.options.length));
  const progress = startProgress(what, { output: process.stderr, total: encoded.length, unit: "texts" });
  const pad = specialIds(tokenizer).pad;
  const scored = await classifier.score(run.weights, encoded, { pad, onBatch: (done) => progress.at(done) });
  progress.end();
  return scored;
}
