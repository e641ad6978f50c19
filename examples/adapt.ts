/** The whole walk of adaptive depth: pre-training, a look at depth, fine-tuning on labels of one's own, predictions. */
import { readFileSync } from "node:fs";
import { classification, depthsOf, finetune, type LabelledText, pretrain } from "layerwise";

/** Which book is a sentence from? As many of each: chapters of Alice come first, then those of Holmes. */
function sentences(part: "train" | "valid" | "test"): LabelledText[] {
  const chapters = readFileSync(`corpus/books/${part}.txt`, "utf8").trim().split("\n\n");
  const half = chapters.length / 2;
  const books = [chapters.slice(0, half), chapters.slice(half)].map((book) => {
    return book.flatMap((chapter) => chapter.split("\n")).filter((line) => line.split(" ").length > 5);
  });
  const count = Math.min(500, ...books.map((lines) => lines.length));
  const labels = ["Alice", "Holmes"];
  return books.flatMap((lines, book) => lines.slice(0, count).map((text) => ({ text, label: labels[book]! })));
}

/** What a small model learns in a few seconds; longer pre-training learns more. */
export async function example(steps = 60) {
  // One layer, run up to four times on masked sentences of the books; the penalty asks every token to halt early.
  const halting = { ponder: 0.01, biasInitial: -1 };
  const model = { width: 64, embedding: 32, heads: 4, depth: 4, halting };
  const texts = { corpus: "books", pieces: 600, length: 32, batch: 8 };
  const pre = await pretrain({ model, ...texts, steps, optimiser: "adamw", rate: 0.003 }).result;
  const tokens = await depthsOf(pre, "it was a bright cold day");

  const task = classification({ labels: ["Alice", "Holmes"] });
  const data = { train: sentences("train"), dev: sentences("valid") };
  const tuned = await finetune(pre, { task, ...data, pooling: "mean", batch: 16, rate: 0.003, epochs: 2 }).result;
  const test = sentences("test");
  const answers = await tuned.predict(test);
  const right = answers.filter(({ label }, i) => label === test[i]!.label);
  return { pre, tokens, tuned, answers, accuracy: right.length / test.length };
}

if (process.argv[1]?.includes("examples")) {
  const { pre, tokens, tuned, answers, accuracy } = await example(300);
  console.log(`masked words ${(100 * pre.evaluation!.scalars!.mlm_accuracy!).toFixed(1)} % right`);
  console.log(tokens.map(({ piece, depth }) => `${piece} ${depth}`).join("  "));
  for (const { epoch, figures } of tuned.epochs)
    console.log(`epoch ${epoch}: accuracy ${(100 * figures.accuracy!).toFixed(1)} %`);
  console.log(`unseen sentences: ${(100 * accuracy).toFixed(1)} % right; the first is ${answers[0]!.label}'s`);
}
