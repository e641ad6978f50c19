/** Adaptive depth in small: masked texts from the embedded books, a few updates, and how deep each kind of token runs. */
import {
  adamw,
  albert,
  chooseTokenizer,
  DepthTally,
  documentsOf,
  drawnBatches,
  eachToken,
  initialise,
  maskedLanguageHead,
  openCorpus,
  ortEngine,
  PRETRAINING_DEFAULTS,
  pretrainingFeeds,
  pretrainingObjective,
  schedule,
  sentenceOrderHead,
  specialIds,
  TOKEN_KINDS,
  TrainingStep,
  train,
} from "../src/index.ts";

/** Mean losses of the first and the last ten updates, and mean iterations by kind of token. */
export async function example(steps = 60) {
  // Data: sentences of the books, masked anew in every pass.
  const corpus = await openCorpus("books");
  const opened = await chooseTokenizer(undefined, corpus, { pieces: 600, masked: true });
  const { tokenizer } = opened;
  const [rows, length, predictions] = [8, 32, 5];
  const options = { ...PRETRAINING_DEFAULTS, length, maxPredictions: predictions, rows };
  const batches = drawnBatches(documentsOf(corpus, "train", opened), tokenizer, options);

  // One layer, run up to four times; the penalty asks every token to halt early.
  const halting = { ponder: 0.01, biasInitial: -1 };
  const model = albert({ vocabulary: tokenizer.size, embedding: 32, width: 64, heads: 4, depth: 4, length, halting });
  const heads = { maskedLanguage: maskedLanguageHead(model), sentenceOrder: sentenceOrderHead(model) };
  const parameters = [model, ...Object.values(heads)].flatMap((part) => [...part.parameters]);
  const shape = { batch: rows, length, predictions, training: true, warmup: false };
  const { loss, inputs, noise, depths } = pretrainingObjective(model, heads, shape);
  const step = await TrainingStep.create({
    ...{ engine: await ortEngine(), loss, inputs, noise, probes: { depths }, seed: 1, clipNorm: 1 },
    groups: [{ parameters: parameters.map(({ tensor }) => tensor), optimiser: adamw() }],
    initial: initialise(parameters, 1),
  });

  const losses: number[] = [];
  const events = train({
    step,
    batches: { ...batches, at: (place) => pretrainingFeeds(batches.at(place)) },
    ...{ seed: 1, length: { steps }, shuffle: false, accumulate: 1, evaluateEvery: steps, checkpointEvery: steps },
    schedule: (total) => schedule("linear", { rate: 0.003, warmup: 10, total }),
  });
  for await (const event of events) if (event.type === "step") losses.push(event.loss);

  // Depth: of a batch the model has not seen.
  const batch = batches.at(steps);
  await step.differentiate(pretrainingFeeds(batch));
  const tally = new DepthTally(4);
  eachToken(batch, specialIds(tokenizer), (place, kinds) => {
    for (const kind of kinds) tally.add(kind, step.probes.depths!.data[place]!);
  });
  await step.release();
  const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  return { first: mean(losses.slice(0, 10)), last: mean(losses.slice(-10)), kinds: tally.rows(TOKEN_KINDS) };
}

if (process.argv[1]?.includes("examples")) {
  const { first, last, kinds } = await example(300);
  console.log(`loss ${first.toFixed(2)} → ${last.toFixed(2)}`);
  for (const { name, mean, atCap } of kinds) {
    console.log(`${name.padEnd(16)} ${mean.toFixed(2)} iterations, ${(100 * atCap).toFixed(0)} % at the cap`);
  }
}
