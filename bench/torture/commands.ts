/** Commands to be tortured: every task that trains, on texts so small that a run takes a second. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../../src/files/checksum.ts";

export const data = "fixtures/runs/data";
const text = ["--corpus", `${data}/text`, "--tokenizer", `${data}/tokenizer.model`];
const habits = ["--steps", "12", "--warmup", "3", "--evaluate-every", "4", "--checkpoint-every", "4", "--threads", "1"];
const small = ["--width", "16", "--heads", "2", "--length", "16", "--batch", "4"];
const language = [...text, ...small, "--depth", "4", "--unique", "2", ...habits];
const words = (line: string) => line.split(" ");
const search = [...text, ...small, ...words("--feed-forward 32 --memory 8 --cutoffs 40,100 --latency 1x8+8")];
const albert = words("--embedding 8 --depth 3 --evaluate-texts 16 --long-length 32 --long-share 0.5");
const pairs = words(`--task translate --corpus ${data}/pairs --pieces 54 --feed-forward 32 --length 32`);

/** What begins a run of each kind; `--out` follows. */
export const commands: Readonly<Record<string, readonly string[]>> = {
  language: ["train", ...language],
  halting: ["train", ...language, "--unique", "1", "--halt", "--optimiser", "adamw"],
  trained: ["train", ...language.slice(0, 2), "--pieces", "150", ...language.slice(4)],
  translate: ["train", ...pairs, "--width", "16", "--heads", "2", "--depth", "2", "--batch", "8", ...habits],
  search: ["search", ...search, "--blocks", "2", ...habits],
  seeds: ["search", ...search, "--blocks", "2", "--seeds", "2", ...habits],
  retrain: ["retrain", "sf", ...search, ...habits],
  pretrain: ["pretrain", ...text, ...small, ...albert, ...habits.filter((_, i) => i !== 2 && i !== 3)],
  finetune: [
    "glue",
    "SST-2",
    "--from",
    "fixtures/runs/albert",
    "--glue",
    `${data}/glue`,
    "--batch",
    "8",
    "--epochs",
    "2",
  ],
};
export const extra: readonly string[] = ["--length", "16", "--checkpoint-every", "4", "--threads", "1"];

/** What makes a run of a kind long enough to meet a full disk now and then. */
export const longer = (task: string): readonly string[] =>
  task === "finetune" ? ["--epochs", "20"] : ["--steps", "150"];

/** The folder of a run and those that belong to it. */
export function runsOf(path: string): string[] {
  const below = existsSync(path) ? readdirSync(path).filter((name) => name.startsWith("seed-")) : [];
  const all = [path, `${path}-baseline`, ...below.map((name) => join(path, name))];
  return all.filter((each) => existsSync(join(each, "config.yaml")));
}

/** Whether something can be resumed there. */
export const isBegun = (path: string): boolean =>
  existsSync(join(path, "config.yaml")) || existsSync(join(path, "sweep.yaml"));

/** What a run came to: the bytes of its last weights, and the losses of all its steps. */
export function outcome(path: string): string {
  return sha256(
    runsOf(path)
      .map((run) => `${run.slice(path.length)} ${weightsOf(run)} ${lossesOf(run)}`)
      .join("\n"),
  );
}

function weightsOf(run: string): string {
  const names = readdirSync(join(run, "checkpoints"))
    .filter((name) => name.startsWith("step-"))
    .sort();
  return sha256(readFileSync(join(run, "checkpoints", names.at(-1)!, "weights.safetensors")));
}

function lossesOf(run: string): string {
  const lines = readFileSync(join(run, "events.jsonl"), "utf8").trimEnd().split("\n");
  const events = lines.map((line) => JSON.parse(line)).filter(({ type }) => type !== "end");
  return JSON.stringify(events.map(({ type, step, loss }) => [type, step, loss]));
}
