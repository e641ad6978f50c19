/** Pre-training on documents, fine-tuning on labels of your own, and how deep the tokens of a sentence run. */
import { classification, depthsOf, finetune, pretrain } from "layerwise";

const things = ["film", "story", "music", "cast", "ending", "plot"];
const praise = ["good", "fine", "lovely"];
const blame = ["bad", "dull", "awful"];
const text = (i: number, words: string[]) =>
  `the ${things[i % 6]} was ${words[i % 3]} and the ${things[(i >> 2) % 6]} too`;
const documents = Array.from({ length: 40 }, (_, i) =>
  [0, 1, 2, 3].map((k) => text(i * 4 + k, k % 2 ? praise : blame)).join("\n"),
);
const examples = Array.from({ length: 160 }, (_, i) => ({
  text: text(i * 5, i % 2 ? praise : blame),
  label: i % 2 ? "good" : "bad",
}));

const model = { width: 32, embedding: 16, heads: 2, depth: 4, halting: { ponder: 0.01, biasInitial: -1 } };
const pre = await pretrain({
  model,
  documents,
  pieces: 40,
  length: 32,
  batch: 8,
  steps: 40,
  optimiser: "adamw",
  rate: 0.003,
}).result;
const task = classification({ labels: ["bad", "good"] });
const tuned = await finetune(pre, {
  task,
  train: examples.slice(0, 128),
  dev: examples.slice(128),
  epochs: 4,
  batch: 8,
  rate: 0.005,
  pooling: "mean",
}).result;
const [answer] = await tuned.predict(["the film was lovely and the music too"]);
const depths = await depthsOf(pre, "the film was lovely");
console.log(JSON.stringify({ reason: tuned.reason, label: answer!.label, scores: answer!.scores, depths }));
