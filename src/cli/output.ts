/** Where a command's words go: results to standard output, everything else to standard error. */

/** A result. */
export const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Something to know on the way. */
export const say = (text: string): void => void process.stderr.write(`${text}\n`);
