/** Where a command's words and files go: results to standard output, everything else to standard error. */
import { type Progress, type ProgressOutput, startProgress, withProgress } from "../base/index.ts";
import { importFlags } from "./imports.ts";

/** A result. */
export const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Something to know on the way. */
export const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** How the user calls this program: through npm it is not on the path; modules that were loaded are needed again. */
export const commandName = (): string =>
  `${process.env.npm_lifecycle_event ? "npx layerwise" : "layerwise"}${importFlags(process.argv.slice(2))}`;

/** Commands with the run's folder in the place of RUN, a line each. */
export const nextLines = (run: string, commands: readonly string[]): string =>
  ["next:", ...commands.map((line) => `  ${commandName()} ${line.replace("RUN", run)}`)].join("\n");

/** Writes a file that a flag names, whole or not at all; nothing where there is no such flag. */
export async function save(path: string | undefined, content: string | Uint8Array): Promise<void> {
  if (path !== undefined) await (await import("../files/index.ts")).writeAtomically(path, content);
}

const silent: ProgressOutput = { isTTY: false, write: (text: string) => process.stderr.write(text) };

/** Where lines of progress are drawn: on standard error, and not at all where a program reads along. */
export const terminal = (): ProgressOutput => (process.argv.includes("--json") ? silent : process.stderr);

/** A line of progress that counts `unit`s, from the first count on. */
export function countingLine(label: string, unit: string, total?: number): Progress {
  let line: Progress | undefined;
  const start = () => startProgress(label, { output: terminal(), unit, ...(total === undefined ? {} : { total }) });
  const at = (done: number, of?: number) => {
    line ??= start();
    line.at(done, of);
  };
  return { at, end: () => line?.end() };
}

/** What commands hand to tasks: who is told what, and a line while a tokenizer is trained. */
export function handed() {
  const line = countingLine("training the tokenizer", "steps");
  return { say, onTokenizer: (steps: number | null) => (steps === null ? line.end() : line.at(steps)) };
}

/** Work under a line of progress that counts `unit`s. */
export const counting = <T>(label: string, unit: string, work: (at: Progress["at"]) => Promise<T>): Promise<T> =>
  withProgress(label, { output: terminal(), unit }, work);
