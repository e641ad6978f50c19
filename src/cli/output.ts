/** Where a command's words go: results to standard output, everything else to standard error. */
import { withProgress } from "../base/index.ts";

/** A result. */
export const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Something to know on the way. */
export const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** Work under a line of progress that counts `unit`s. */
export const counting = <T>(
  label: string,
  unit: string,
  work: (at: (done: number) => void) => Promise<T>,
): Promise<T> => withProgress(label, { output: process.stderr, unit }, work);
