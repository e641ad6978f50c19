/** Submission files of the benchmark: what a fine-tuned run says about the test texts, under the names GLUE wants. */
import { join } from "node:path";
import { reject } from "../../base/errors.ts";
import { startProgress } from "../../base/progress.ts";
import { writeAtomically } from "../../files/atomic.ts";
import type { CheckpointChoice } from "../../runs/folder.ts";
import { specialIds } from "../../text/documents.ts";
import { type GlueExample, hasGlueFile, readGlue } from "../../text/glue.ts";
import { encodeGlue } from "../../text/glue-batches.ts";
import { type GlueTask, glueTask, RANGE, type Submission } from "../../text/glue-tasks.ts";
import { type AlbertRun, needTokenizer, openAlbertRun } from "../albertrun.ts";
import { openEngine } from "../training.ts";
import { Classifier, guessesOf, type Scored } from "./classifier.ts";
import { glueFolder } from "./finetune.ts";
import { glueSchema } from "./settings.ts";

export interface PredictFlags {
  out: string;
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

/** Writes all files whose texts are there; the first must be. */
export async function predictGlue(path: string, flags: PredictFlags, say: (text: string) => void): Promise<Written[]> {
  const run = await openAlbertRun(path, flags.checkpoint);
  run.warnings.forEach(say);
  const task = taskOf(run);
  const known = { ...glueSchema.defaults, ...run.config.training };
  const folder = flags.glue ?? glueFolder(known);
  const engine = await openEngine({ threads: flags.threads ?? null, device: "cpu" });
  const classifier = await Classifier.create(engine, run);
  const written: Written[] = [];
  try {
    for (const each of submissionsOf(task, flags.split)) {
      const source = glueTask(each.task);
      if (written.length > 0 && !hasGlueFile(source, each.split, folder)) {
        say(`${each.file} is left out: its texts are not under ${folder}`);
        continue;
      }
      const examples = numbered(readGlue(source, each.split, folder, { warn: say }), each.split);
      const scored = await scoresOf(run, classifier, examples, known.length, each.file);
      const file = join(flags.out, each.file);
      await writeAtomically(file, submission(source, examples, scored));
      written.push({ file, texts: examples.length });
    }
  } finally {
    await classifier.release();
  }
  return written;
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
