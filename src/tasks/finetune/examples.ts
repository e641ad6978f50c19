/** The labelled texts of a task, encoded: out of GLUE's files, or a program's own. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { reject } from "../../base/errors.ts";
import { dataFolder } from "../../text/files/corpus.ts";
import { readGlue } from "../../text/files/glue.ts";
import { type EncodedExample, encodeGlue } from "../../text/labelled/glue-batches.ts";
import { isGlue } from "../../text/labelled/glue-tasks.ts";
import { exampleOf, type LabelledText, type TextExample, type TextTask } from "../../text/labelled/text-task.ts";
import type { Handed } from "../job.ts";
import type { FinetuneModel } from "./model.ts";
import type { GlueSettings } from "./settings.ts";

/** Encoded texts to learn from, and those to judge by. */
export interface Examples {
  readonly train: readonly EncodedExample[];
  readonly dev: readonly EncodedExample[];
}

/** A hash of what is learnt from and judged by. */
export function examplesHash({ train, dev }: Examples): string {
  const hash = createHash("sha256");
  for (const { ids, second, label, classes } of [...train, ...dev]) {
    hash.update(ids).update(`${second} ${classes ?? label} `);
  }
  return hash.update(`${train.length}`).digest("hex");
}

/** A program's own texts, and who is told what is done. */
export interface GivenExamples extends Pick<Handed, "say"> {
  readonly train?: readonly LabelledText[] | undefined;
  readonly dev?: readonly LabelledText[] | undefined;
  /** Told how many texts are encoded, of how many. */
  readonly onText?: ((done: number, count: number) => void) | undefined;
}

/** Where GLUE's tasks lie. */
export const glueFolder = ({ glue, data }: Pick<GlueSettings, "glue" | "data">) =>
  glue ?? join(dataFolder(data ?? undefined), "glue");

/** The longest text that a model reads. */
export const lengthFor = ({ length }: Pick<GlueSettings, "length">, { described }: Pick<FinetuneModel, "described">) =>
  Math.min(length, described.model.options.length);

/** Reads and encodes what a task learns from and is judged by. */
export function openExamples(
  task: TextTask,
  settings: GlueSettings,
  model: Pick<FinetuneModel, "tokenizer" | "described">,
  given: GivenExamples = {},
): Examples {
  const encoded = (split: "train" | "dev", limit?: number) => {
    const texts = given[split]
      ? ownTexts(task, split, given[split], limit)
      : gluedTexts(task, split, settings, given, limit);
    const onText = (done: number) => given.onText?.(done, texts.length);
    return encodeGlue(texts, model.tokenizer.tokenizer, lengthFor(settings, model), onText);
  };
  return { train: encoded("train", settings.examples ?? undefined), dev: encoded("dev") };
}

/** A program's texts; `split` names them in errors. */
export function ownTexts(task: TextTask, split: string, texts: readonly LabelledText[], limit?: number): TextExample[] {
  if (texts.length === 0) reject({ who: `${task.name} / ${split}`, needed: "at least one example", got: "none" }, 2);
  return texts.slice(0, limit).map((text, i) => exampleOf(text, task, i));
}

/** GLUE's texts; another task has none. */
export function gluedTexts(
  task: TextTask,
  split: string,
  settings: Pick<GlueSettings, "glue" | "data">,
  { say }: Pick<GivenExamples, "say">,
  limit?: number,
) {
  if (!isGlue(task)) {
    reject(
      { who: task.name, needed: `${split} examples, which a program gives`, got: "none", remedy: `give ${split}` },
      2,
    );
  }
  return readGlue(task, split, glueFolder(settings), { ...(say ? { warn: say } : {}), ...(limit ? { limit } : {}) });
}
