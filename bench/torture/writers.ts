/** What the sweep kills: every task that trains, as short as it can be, and every command that writes files. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { sha256 } from "../../src/files/checksum.ts";
import { commands, data, extra, isBegun, outcome, runsOf } from "./commands.ts";

/** A command that is killed and called again until it ends. */
export interface Writer {
  /** What is called next, given what lies at `path` and whether anything was killed before. */
  readonly next: (path: string, again: boolean) => readonly string[];
  /** What it came to. */
  readonly outcome: (path: string) => string;
  /** Whether what a kill left may be seen by others; `twin` is what an undisturbed command wrote. */
  readonly isIntact: (path: string, twin: Files) => boolean;
  /** The program that is killed. Default: the command line. */
  readonly program?: string | undefined;
  /** What makes the writer's input, once. */
  readonly source?: ((path: string) => readonly string[]) | undefined;
}

/** SHA-256 of files by their names. */
export type Files = Readonly<Record<string, string>>;

/** Four checkpoints, one more than are kept, so that one is removed; for tasks that differ elsewhere, two. */
const pruned = ["language", "search", "pretrain"];
const short = (task: string): readonly string[] => {
  if (task === "finetune") return [...extra, "--epochs", "1"];
  const steps = ["--steps", pruned.includes(task) ? "4" : "2", "--checkpoint-every", "1"];
  return task === "pretrain" ? steps : [...steps, "--warmup", "1", "--evaluate-every", "2"];
};

// A start should take half a second of processor time: the smallest models, on a sixth of the text.
const file = ["--corpus", `${data}/text/test.txt`];
const narrow = ["--width", "8", "--heads", "1", "--batch", "2"];
const shallow = [...file, ...narrow, "--length", "8", "--depth", "2", "--unique", "1"];
const segments = [...file, ...narrow, "--length", "8", "--feed-forward", "16", "--memory", "4", "--latency", "1x4+4"];
const small: Readonly<Record<string, readonly string[]>> = {
  language: shallow,
  halting: shallow,
  trained: [...shallow, "--pieces", "60"],
  translate: [...narrow, "--feed-forward", "16", "--depth", "1"],
  search: [...segments, "--blocks", "1"],
  seeds: [...segments, "--blocks", "1"],
  retrain: segments,
  pretrain: file,
};

const training = (task: string): Writer => ({
  next: (path) =>
    isBegun(path) ? ["resume", path] : [...commands[task]!, ...(small[task] ?? []), ...short(task), "--out", path],
  outcome: (path) => sha256([outcome(path), ...runsOf(path).map((run) => lastingFiles(run).join())].join("\n")),
  isIntact: () => true, // a run is looked at when it has ended
});

/** Names of a run's files; TensorBoard has one per session. */
const lastingFiles = (run: string) => namesIn(run).filter((name) => !name.startsWith("tensorboard"));

const namesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort();

/** What lies at a path: a file, the files of a folder, or files with that name before their endings. */
export function filesAt(path: string): Files {
  if (!existsSync(dirname(path))) return {};
  const own = readdirSync(dirname(path)).filter(
    (name) => name === basename(path) || name.startsWith(`${basename(path)}.`),
  );
  const places = own.map((name) => join(dirname(path), name));
  const files = places.flatMap((each) =>
    statSync(each).isFile() ? [each] : namesIn(each).map((name) => join(each, name)),
  );
  return Object.fromEntries(files.map((file) => [file.slice(dirname(path).length), sha256(readFileSync(file))]));
}

const writing = (args: readonly string[], more: Partial<Writer> = {}): Writer => ({
  next: (path, again) => [...args, "--out", path, ...(again ? ["--force"] : [])],
  outcome: (path) => JSON.stringify(filesAt(path)),
  isIntact: (path, twin) => Object.entries(filesAt(path)).every(([name, hash]) => twin[name] === hash),
  ...more,
});

const text = ["--corpus", `${data}/text`, "--tokenizer", `${data}/tokenizer.model`];
const build = ["data", "build", ...text, "--batch", "4", "--length", "16"];
const vectors = writing(["embed", "fixtures/runs/albert", `${data}/pairs/valid.en`]);

/** By name. */
export const writers: Readonly<Record<string, Writer>> = {
  ...Object.fromEntries(Object.keys(commands).map((task) => [task, training(task)])),
  export: writing(["export", "fixtures/runs/language"]),
  huggingface: writing(["export", "fixtures/runs/language", "--format", "huggingface"]),
  import: writing([], {
    source: (path) => ["export", "fixtures/runs/albert", "--format", "huggingface", "--out", path],
    next: (path, again) => ["import", join(dirname(path), "../source"), "--out", path, ...(again ? ["--force"] : [])],
  }),
  build: writing(build),
  masked: writing([...build, "--masked", "--passes", "1"]),
  tokenizer: writing(["tokenizer", "train", "--input", `${data}/text/valid.txt`, "--vocabulary", "100"]),
  embed: { ...vectors, next: (path) => vectors.next(`${path}.jsonl`, false) },
};
