/** A walk through sharing: plans drawn, what they cost, two of them trained side by side. `node share.js [updates]`, by default 300. */
import * as lw from "layerwise";

const steps = Number(process.argv[2] ?? 300);
const say = (title: string) => console.log(`\n── ${title}`);

say("A plan says which layer of weights runs at each depth. Three ways to run three layers six times:");
const sizes = { unique: 3, depth: 6 };
const plans = { sequence: lw.sequence(sizes), cycle: lw.cycle(sizes), cycleReverse: lw.cycleReverse(sizes) };
for (const [name, plan] of Object.entries(plans)) console.log(`${name}: ${plan.join(" ")}`);
console.log(lw.pictures.drawPlan(plans.cycleReverse));

say("Text: the embedded books, in 1,000 pieces");
const corpus = await lw.openCorpus("books");
const tokenizer = await lw.trainTokenizer(corpus, { pieces: 1000 });
const batch = { batch: 16, length: 64 };
const data = {
  train: await lw.openBatches(corpus, "train", tokenizer, batch),
  valid: await lw.openBatches(corpus, "valid", tokenizer, batch),
};
console.log(`${data.train.count} batches of ${batch.batch} × ${batch.length} pieces`);

say("Two models of six layers: one owns the weights of two, the other of all six");
const shared = { vocabulary: 1000, width: 96, heads: 4, length: 64 };
const models = {
  shared: lw.languageModel({ ...shared, plan: lw.cycle({ unique: 2, depth: 6 }) }),
  unshared: lw.languageModel({ ...shared, plan: [0, 1, 2, 3, 4, 5] }),
};
for (const [name, model] of Object.entries(models)) {
  const { parameters, executedDepth, flopsPerToken } = lw.reportOn(model, { length: 64 });
  const work = `${(flopsPerToken / 1e6).toFixed(1)} MFLOPs per token`;
  console.log(
    `${name.padEnd(8)}  ${parameters.toLocaleString("en")} parameters, ${executedDepth} layers deep, ${work}`,
  );
}

say(`Both train for ${steps} updates on the same batches`);
const every = Math.max(1, Math.floor(steps / 3));
for (const [name, model] of Object.entries(models)) {
  const session = lw.train(model, { data, steps, evaluateEvery: every, rate: 0.003, seed: 1 });
  for await (const event of session) {
    if (event.type === "evaluation")
      console.log(`${name.padEnd(8)}  step ${event.step}: valid loss ${event.loss.toFixed(3)}`);
  }
  const trained = await session.result;
  const seconds = trained.elapsedMs / 1000;
  console.log(`${name.padEnd(8)}  ${seconds.toFixed(1)} s: sharing saves memory, not arithmetic`);
  if (name === "unshared") continue;
  say("What the shared one writes");
  for await (const text of lw.generate(trained, { tokenizer, prompt: "Alice", maxTokens: 30 }))
    process.stdout.write(text);
  console.log();
}
