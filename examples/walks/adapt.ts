/** A walk through adaptive depth: a layer that tokens leave when they have had enough of it. `node adapt.js [updates]`, by default 400. */
import * as lw from "layerwise";

const steps = Number(process.argv[2] ?? 400);
const say = (title: string) => console.log(`\n── ${title}`);

say("One layer, run up to six times; each token adds up a halting probability and stops near 1");
const width = 64;
const layer = new lw.nn.TransformerBlock("layer", {
  width,
  heads: 4,
  hidden: 4 * width,
  dropout: 0,
  activation: "gelu",
});
const depth = lw.halting([layer], [0, 0, 0, 0, 0, 0], {
  width,
  accumulate: "weightedSum",
  biasInitial: -2, // at first every token runs deep
  ponder: 0.02, // what a pass costs
  ponderFrom: 0.3, // not before three tenths of training
  ponderWarmup: 0.1,
});
const model = lw.languageModel({ vocabulary: 1000, width, length: 64, depth });

say("Text: the embedded books, in 1,000 pieces");
const corpus = await lw.openCorpus("books");
const tokenizer = await lw.trainTokenizer(corpus, { pieces: 1000 });
const batch = { batch: 16, length: 64 };
const data = { train: await lw.openBatches(corpus, "train", tokenizer, batch) };

const sentences = [
  "Alice was beginning to get very tired of sitting by her sister on the bank.",
  "The little girl said that it was a curious thing to have nothing to do.",
];
/** The sentences with the passes of each token: colours on a terminal, small figures anywhere. */
async function show(weights: lw.Weights) {
  const texts = await lw.depthsOf({ model, weights, tokenizer }, sentences);
  for (const tokens of texts) console.log(lw.pictures.terminalView(tokens, 6, process.stdout.isTTY));
  const depths = texts.flat().map((token) => token.depth);
  console.log(`mean depth ${(depths.reduce((a, b) => a + b, 0) / depths.length).toFixed(2)} of 6`);
}

say("Before training: the bias of the halting unit decides alone");
await show(lw.initialise(model.parameters, 1));

say(`${steps} updates; the penalty sets in after three tenths of them`);
const session = lw.train(model, { data, steps, rate: 0.003, seed: 1 });
for await (const event of session) {
  if (event.type !== "step" || event.step % Math.ceil(steps / 4) !== 0) continue;
  console.log(
    `step ${event.step}: loss ${event.loss.toFixed(3)}, penalty at ${event.scalars?.ponderScale?.toFixed(2) ?? "1"}`,
  );
}

say("After training: the figures behind the words are the passes that each took");
await show((await session.result).weights);
