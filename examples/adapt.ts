/** Adaptive depth: pre-training, how deep each token runs, fine-tuning on labels of your own, predictions. */
import { classification, depthsOf, finetune, openCorpus, pretrain, text } from "layerwise";

// One layer, run up to four times on masked sentences of the books; the penalty asks every token to halt early.
const model = { width: 64, embedding: 32, heads: 4, depth: 4, halting: { ponder: 0.01, biasInitial: -1 } };
const sizes = { pieces: 600, length: 32, batch: 8 };
const pre = await pretrain({ model, ...sizes, steps: 300, optimiser: "adamw", rate: 0.003 }).result;
const tokens = await depthsOf(pre, "it was a bright cold day");
console.log(tokens.map(({ piece, depth }) => `${piece} ${depth}`).join("  "));

// Which book is a sentence from? The first half of each part is Alice's, the second Holmes's.
const corpus = await openCorpus("books");
const labels = ["Alice", "Holmes"];
function sentences(split: "train" | "valid" | "test") {
  const lines = [...text.linesOf(corpus, split)];
  const halves = [lines.slice(0, 250), lines.slice(-250)];
  return halves.flatMap((half, book) => half.map((line) => ({ text: line, label: labels[book]! })));
}
const data = { train: sentences("train"), dev: sentences("valid") };
const task = classification({ labels });
const tuned = await finetune(pre, { task, ...data, pooling: "mean", batch: 16, rate: 0.003, epochs: 3 }).result;
for (const { epoch, figures } of tuned.epochs) console.log(`epoch ${epoch}: accuracy ${figures.accuracy!.toFixed(3)}`);
const [answer] = await tuned.predict(["The Rabbit looked at his watch and hurried on."]);
console.log(`${answer!.label}, ${JSON.stringify(answer!.scores)}`);
