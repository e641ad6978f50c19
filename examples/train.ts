/** Trains a small language model on the embedded books and prints its loss: the library in thirty lines. */
import {
  adamw,
  chooseTokenizer,
  cycle,
  initialise,
  languageModel,
  openBatches,
  openCorpus,
  ortEngine,
  schedule,
  TrainingStep,
  train,
} from "../src/index.ts";

/** The mean loss of the first and of the last ten updates. */
export async function example(steps = 120): Promise<{ first: number; last: number }> {
  const corpus = await openCorpus("books");
  const tokenizer = await chooseTokenizer(undefined, corpus, { pieces: 1000 });
  const source = await openBatches(corpus, "train", tokenizer, { batch: 8, length: 32 });

  // Four layers deep, two layers of weights.
  const plan = cycle({ unique: 2, depth: 4 });
  const model = languageModel({
    vocabulary: tokenizer.tokenizer.size,
    width: 64,
    heads: 4,
    plan,
    length: 32,
    dropout: 0.1,
  });
  const engine = await ortEngine();
  const step = await TrainingStep.create({
    engine,
    ...model.objective({ batch: 8, length: 32, training: true }),
    groups: [{ parameters: model.parameters.map(({ tensor }) => tensor), optimiser: adamw() }],
    initial: initialise(model.parameters, 1),
    seed: 1,
    clipNorm: 1,
  });

  const losses: number[] = [];
  const events = train({
    step,
    batches: {
      count: source.count,
      tokens: source.rows * source.length,
      at: (i) => ({ ids: source.at(i).inputs, targets: source.at(i).targets }),
    },
    seed: 1,
    length: { steps },
    schedule: (total) => schedule("cosine", { rate: 0.003, warmup: 20, total }),
    shuffle: true,
    accumulate: 1,
    evaluateEvery: steps,
    checkpointEvery: steps,
  });
  for await (const event of events) {
    if (event.type === "step") losses.push(event.loss);
  }
  await step.release();
  const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  return { first: mean(losses.slice(0, 10)), last: mean(losses.slice(-10)) };
}

if (process.argv[1]?.includes("examples")) {
  const { first, last } = await example();
  console.log(`loss ${first.toFixed(2)} → ${last.toFixed(2)}`);
}
