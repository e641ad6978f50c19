/** Lines of GLUE's files, tab-separated without quoting, to texts and labels; what is wrong is named by file and line. */
import { rejectFile } from "../../base/errors.ts";
import { type Columns, type GlueTask, RANGE } from "./glue-tasks.ts";
import type { TextExample } from "./text-task.ts";

/** One or two texts with what is to be said about them; the label is 0 in test files. */
export interface GlueExample extends TextExample {
  /** What the benchmark calls it, in test files. */
  readonly index: string;
}

/** How lines are read. */
export interface GlueReading {
  /** Names the lines in errors. */
  source: string;
  warn?: (message: string) => void;
  limit?: number;
}

/** The examples in the lines of a split; `warn` is told of lines that are left out. */
export function parseGlue(
  lines: Iterable<string>,
  task: GlueTask,
  split: string,
  { source, warn, limit = Number.POSITIVE_INFINITY }: GlueReading,
): GlueExample[] {
  const columns = split.startsWith("test") ? task.test : task.train;
  const examples: GlueExample[] = [];
  let [number, width, bad] = [0, 0, 0];
  for (const line of lines) {
    const cells = line.split("\t");
    if (++number === 1) width = firstWidth(cells, columns, source);
    if (number === 1 && columns.header !== false) continue;
    if (cells.length !== width && task.skipsBadLines) bad++;
    else examples.push(exampleOf(cells, width, columns, task, `${source}: line ${number}`));
    if (examples.length >= limit) break;
  }
  if (bad > 0) warn?.(`${source}: ${bad} lines without their ${width} columns are left out`);
  if (examples.length === 0) rejectFile({ who: source, needed: "at least one example", got: "none" });
  return examples;
}

/** The texts in lines of a training file, without their labels; the first line has number `first`, from 0. */
export function* glueTexts(
  lines: Iterable<string>,
  { train }: GlueTask,
  { source, first = 0 }: { source: string; first?: number },
): Generator<string> {
  const least = Math.max(...train.texts) + 1;
  let number = first;
  for (const line of lines) {
    const cells = line.split("\t");
    number++;
    if (cells.length < least) {
      rejectFile({ who: `${source}: line ${number}`, needed: `at least ${least} columns`, got: `${cells.length}` });
    }
    for (const at of train.texts) yield cells[at]!.trim();
  }
}

/** Columns of the first line: as many as all others must have. */
function firstWidth(cells: readonly string[], { texts, label = 0 }: Columns, path: string): number {
  const least = Math.max(...texts, label) + 1;
  if (cells.length >= least) return cells.length;
  return rejectFile({ who: `${path}: line 1`, needed: `at least ${least} columns`, got: `${cells.length}` });
}

function exampleOf(
  cells: readonly string[],
  width: number,
  { texts, label }: Columns,
  task: GlueTask,
  who: string,
): GlueExample {
  if (cells.length !== width) {
    rejectFile({ who, needed: `${width} columns with tabs between`, got: `${cells.length}`, remedy: "mend the line" });
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
  return rejectFile({ who, needed, got: JSON.stringify(text) });
}
