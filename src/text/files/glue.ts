/** GLUE's files: tab-separated lines, no quoting, to texts and labels; what is wrong is named by file and line. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { reject } from "../../base/errors.ts";
import { type LineRange, readLines } from "../../files/lines.ts";
import { type Columns, type GlueTask, RANGE } from "../labelled/glue-tasks.ts";

export interface GlueExample {
  readonly texts: readonly [string] | readonly [string, string];
  /** Index of the class, or the number itself; 0 in test files. */
  readonly label: number;
  /** What the benchmark calls it, in test files. */
  readonly index: string;
}

/** The file of a split; `folder` holds the tasks' folders, or is the task's own. */
export function glueFile(task: GlueTask, split: string, folder: string): string {
  const names = task.files[split];
  if (!names) {
    const needed = `a split of ${Object.keys(task.files).join(", ")}`;
    return reject({ who: task.name, needed, got: split }, 2);
  }
  const places = [folder, ...task.folders.map((name) => join(folder, name))];
  const paths = places.flatMap((place) => names.map((name) => join(place, name)));
  const path = paths.find((each) => existsSync(each));
  if (path !== undefined) return path;
  const got = `none of ${paths.slice(names.length).join(", ")}`;
  return reject({ who: task.name, needed: `its ${split} file`, got, remedy: "say with --glue where GLUE lies" }, 2);
}

/** Whether there is such a file. */
export function hasGlueFile(task: GlueTask, split: string, folder: string): boolean {
  const names = task.files[split] ?? [];
  return [folder, ...task.folders.map((name) => join(folder, name))].some((place) =>
    names.some((name) => existsSync(join(place, name))),
  );
}

/** Reads a split; `warn` is told of lines that are left out. */
export function readGlue(
  task: GlueTask,
  split: string,
  folder: string,
  { warn, limit = Number.POSITIVE_INFINITY }: { warn?: (message: string) => void; limit?: number } = {},
): GlueExample[] {
  const path = glueFile(task, split, folder);
  const columns = split.startsWith("test") ? task.test : task.train;
  const examples: GlueExample[] = [];
  let [number, width, bad] = [0, 0, 0];
  for (const line of readLines(path)) {
    const cells = line.split("\t");
    if (++number === 1) width = firstWidth(cells, columns, path);
    if (number === 1 && columns.header !== false) continue;
    if (cells.length !== width && task.skipsBadLines) bad++;
    else examples.push(exampleOf(cells, width, columns, task, `${path}: line ${number}`));
    if (examples.length >= limit) break;
  }
  if (bad > 0) warn?.(`${path}: ${bad} lines without their ${width} columns are left out`);
  if (examples.length === 0) reject({ who: path, needed: "at least one example", got: "none" });
  return examples;
}

/** The texts of a training file's lines, without their labels. */
export function* glueTexts({ train }: GlueTask, path: string, range: LineRange): Generator<string> {
  let number = range.from ?? 0;
  for (const line of readLines(path, range)) {
    const cells = line.split("\t");
    number++;
    if (cells.length < Math.max(...train.texts) + 1) {
      const needed = `at least ${Math.max(...train.texts) + 1} columns`;
      reject({ who: `${path}: line ${number}`, needed, got: `${cells.length}` });
    }
    for (const at of train.texts) yield cells[at]!.trim();
  }
}

/** Columns of the first line: as many as all others must have. */
function firstWidth(cells: readonly string[], { texts, label = 0 }: Columns, path: string): number {
  const least = Math.max(...texts, label) + 1;
  if (cells.length >= least) return cells.length;
  return reject({ who: `${path}: line 1`, needed: `at least ${least} columns`, got: `${cells.length}` });
}

function exampleOf(
  cells: readonly string[],
  width: number,
  { texts, label }: Columns,
  task: GlueTask,
  who: string,
): GlueExample {
  if (cells.length !== width) {
    reject({ who, needed: `${width} columns with tabs between`, got: `${cells.length}`, remedy: "mend the line" });
  }
  return {
    texts: texts.map((at) => cells[at]!) as [string] | [string, string],
    label: label === undefined ? 0 : labelOf(cells.at(label)!, task, who),
    index: cells[0]!,
  };
}

function labelOf(text: string, { labels }: GlueTask, who: string): number {
  const [least, most] = RANGE;
  const value = labels ? labels.indexOf(text) : text.trim() === "" ? Number.NaN : Number(text);
  if (labels ? value >= 0 : value >= least && value <= most) return value;
  const needed = labels ? `a label of ${labels.join(", ")}` : `a number from ${least} to ${most}`;
  return reject({ who, needed, got: JSON.stringify(text) });
}
