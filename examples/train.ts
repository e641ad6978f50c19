/** Trains a small language model on the embedded books and prints its loss. */
import { chooseTokenizer, cycle, languageModel, openBatches, openCorpus, ortEngine, train } from "layerwise";

/** The mean loss of the first and of the last ten updates. */
export async function example(steps = 120): Promise<{ first: number; last: number }> {
  const corpus = await openCorpus("books");
  const tokenizer = await chooseTokenizer(undefined, corpus, { pieces: 1000 });
  const batches = await openBatches(corpus, "train", tokenizer, { batch: 8, length: 32 });

  // Four layers deep, two layers of weights.
  const plan = cycle({ unique: 2, depth: 4 });
  const model = languageModel({ vocabulary: 1000, width: 64, heads: 4, plan, length: 32, dropout: 0.1 });

  const losses: number[] = [];
  for await (const event of train(model, {
    engine: await ortEngine(),
    data: { train: batches },
    steps,
    rate: 0.003,
    seed: 1,
  })) {
    if (event.type === "step") losses.push(event.loss);
  }
  const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  return { first: mean(losses.slice(0, 10)), last: mean(losses.slice(-10)) };
}

if (process.argv[1]?.includes("examples")) {
  const { first, last } = await example();
  console.log(`loss ${first.toFixed(2)} → ${last.toFixed(2)}`);
}
