/** Where a command's words go: results to standard output, everything else to standard error. */
import { type Progress, type ProgressOutput, startProgress, withProgress } from "../base/index.ts";

/** A result. */
export const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Something to know on the way. */
export const say = (text: string): void => void process.stderr.write(`${text}\n`);

const silent: ProgressOutput = { isTTY: false, write: (text: string) => process.stderr.write(text) };

/** Where lines of progress are drawn: on standard error, and not at all where a program reads along. */
export const terminal = (): ProgressOutput => (process.argv.includes("--json") ? silent : process.stderr);

/** A line of progress that counts `unit`s. */
export const countingLine = (label: string, unit: string, total?: number): Progress =>
  startProgress(label, { output: terminal(), unit, ...(total === undefined ? {} : { total }) });

/** What commands hand to tasks: who is told what, and a line while a tokenizer is trained. */
export function handed() {
  let line: Progress | undefined;
  const onTokenizer = (steps: number | null) => {
    if (steps === null) return line?.end();
    line ??= countingLine("training the tokenizer", "steps");
    line.at(steps);
  };
  return { say, onTokenizer };
}

/** Work under a line of progress that counts `unit`s. */
export const counting = <T>(label: string, unit: string, work: (at: Progress["at"]) => Promise<T>): Promise<T> =>
  withProgress(label, { output: terminal(), unit }, work);
