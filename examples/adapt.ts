/** The whole walk of adaptive depth: data, pre-training, a look at depth, fine-tuning on a task, evaluation, predictions. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { layerwise } from "./layerwise.ts";

/** Which book is a sentence from? In the form of SST-2's files, as many of each book: 0 is Alice's, whose chapters come first, 1 is Holmes's. */
function writeTask(folder: string): void {
  mkdirSync(folder);
  for (const [part, file] of Object.entries({ train: "train", valid: "dev", test: "test" })) {
    const chapters = readFileSync(`corpus/books/${part}.txt`, "utf8").trim().split("\n\n");
    const half = chapters.length / 2;
    const books = [chapters.slice(0, half), chapters.slice(half)].map((book) => {
      return book.flatMap((chapter) => chapter.split("\n")).filter((line) => line.split(" ").length > 5);
    });
    const count = Math.min(500, ...books.map((lines) => lines.length));
    const [header, row] = part === "test" ? ["index\tsentence", indexed] : ["sentence\tlabel", labelled];
    const lines = [header, ...books.flatMap((all, book) => all.slice(0, count).map(row(book)))];
    writeFileSync(join(folder, `${file}.tsv`), `${lines.join("\n")}\n`);
  }
}

const labelled = (book: number) => (text: string) => `${text}\t${book}`;
const indexed = (book: number) => (text: string, i: number) => `${book}-${i}\t${text}`;

/** What a small model learns in a few seconds; longer pre-training learns more. */
export function example(steps = 60) {
  const folder = mkdtempSync(join(tmpdir(), "layerwise-example-"));
  const [albert, task, tuned, submission] = ["albert", "task", "tuned", "submission"].map((name) =>
    join(folder, name),
  ) as [string, string, string, string];
  try {
    // One layer, run up to four times on masked sentences of the books; the penalty asks every token to halt early.
    const sizes = "--width 64 --embedding 32 --heads 4 --depth 4 --length 32 --batch 8 --pieces 600".split(" ");
    const training = `--steps ${steps} --optimiser adamw --rate 0.003 --halt-bias -1 --ponder 0.01`.split(" ");
    layerwise("pretrain", "--corpus", "books", ...sizes, ...training, "--out", albert);
    const pretrained = layerwise("eval", albert, "--json");
    const depth = layerwise("depth", albert, "--texts", "64", "--json");

    writeTask(task);
    const tuning = "--pooling mean --batch 16 --rate 0.003 --epochs 2".split(" ");
    const found = layerwise("glue", "SST-2", "--from", albert, "--glue", task, ...tuning, "--json", "--out", tuned);
    layerwise("glue", "predict", tuned, "--out", submission);
    const answers = readFileSync(join(submission, "SST-2.tsv"), "utf8").trim().split("\n").slice(1);
    return { pretrained: JSON.parse(pretrained), depth: JSON.parse(depth), tuned: JSON.parse(found), answers };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (process.argv[1]?.includes("examples")) {
  const { pretrained, depth, tuned, answers } = example(300);
  console.log(`masked words ${(100 * pretrained.maskedAccuracy).toFixed(1)} % right`);
  for (const { name, mean } of depth.kinds) console.log(`${name.padEnd(16)} ${mean.toFixed(2)} iterations`);
  for (const { epoch, figures } of tuned.epochs)
    console.log(`epoch ${epoch}: accuracy ${(100 * figures.accuracy).toFixed(1)} %`);
  console.log(`first answers: ${answers.slice(0, 3).join(", ")}`);
}
