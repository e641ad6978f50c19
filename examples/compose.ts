/** The three lines of research in one model: weights shared across depths, blocks searched for, tokens that halt by themselves. */
import * as lw from "layerwise";

/** Search: two blocks, each of them attention, feed-forward or nothing; draws get colder, down to 0.2. */
function stack(name: string) {
  const sizes = { width: 48, heads: 4, hidden: 192, dropout: 0.1, activation: "gelu" } as const;
  const blocks = [0, 1].map((i) => [
    lw.nn.selfAttentionCandidate(`${name}.${i}.attention`, sizes),
    lw.nn.feedForwardCandidate(`${name}.${i}.dense`, sizes),
    lw.nn.identity,
  ]);
  return lw.searched(name, blocks, { finalTemperature: 0.2 });
}
const stacks = [stack("stacks.0"), stack("stacks.1")];

// Share: two stacks own weights, six run. Adapt: every token passes through as many of the six as it needs.
const plan = lw.cycle({ unique: 2, depth: 6 });
const depth = lw.nested(stacks, plan, (blocks, order) =>
  lw.halting(blocks, order, { width: 48, ponder: 0.01, ponderWarmup: 20, biasInitial: -3 }),
);
const model = lw.languageModel({ vocabulary: 500, width: 48, length: 32, dropout: 0.1, depth });

const corpus = await lw.openCorpus("books");
const tokenizer = await lw.chooseTokenizer(undefined, corpus, { pieces: 500 });
const batches = await lw.openBatches(corpus, "train", tokenizer, { batch: 8, length: 32 });
const session = lw.train(model, { data: { train: batches }, steps: 100, rate: 0.0015 });
const losses: number[] = [];
for await (const event of session) if (event.type === "step") losses.push(event.loss);
const { weights } = await session.result;

console.log(lw.pictures.drawPlan(plan));
for (const each of stacks) {
  const shares = each.probabilities(weights).map((block) => block.map((share) => share.toFixed(2)).join(" "));
  console.log(`${each.pattern(weights)}: π of attention, feed-forward, identity ${shares.join(" | ")}`);
}
const { updates } = model.deepened(lw.graph.input("ids", [8, 32], "int")).probes;
const program = await (await lw.ortEngine()).compile({ outputs: { updates: updates! }, weights });
const depths = Array.from((await program.run({ ids: batches.at(0).ids })).updates!.data);
await program.release();
console.log(`mean depth ${(depths.reduce((a, b) => a + b, 0) / depths.length).toFixed(2)} of ${plan.length}`);
console.log(`loss ${losses[0]!.toFixed(2)} → ${losses.at(-1)!.toFixed(2)}`);
