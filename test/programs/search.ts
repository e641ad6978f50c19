/** A search with π in its events: stopped, resumed, retrained beside a baseline, generated from. */
import { generate, openCorpus, Run, retrain, search } from "layerwise";

const corpus = await openCorpus("books");
const model = { blocks: 3, width: 24, heads: 2, hidden: 48, memory: 8, cutoffs: [60, 200], pieces: 400 };
const quick = {
  batch: 8,
  length: 16,
  warmup: 5,
  rate: 0.01,
  evaluationBatch: 32,
  evaluationLength: 64,
  latency: { batch: 1, length: 16, memory: 16 },
};
const into = await Run.create("search");
const session = search({
  ...model,
  ...quick,
  steps: 30,
  evaluateEvery: 10,
  budget: { fraction: 0.95 },
  data: { corpus },
  into,
});
let pi: (readonly number[])[] = [];
for await (const event of session) {
  if (event.type !== "evaluation") continue;
  pi = event.choices!.map(({ probabilities }) => probabilities);
  break;
}
const stopped = await session.result;
const run = await Run.open("search", "search");
const found = await run.resume({ corpus }).result;
const { network, baseline, ratios } = await retrain(found, { data: { corpus }, steps: 20, baseline: true }).result;
let text = "it was";
for await (const part of generate(network, { prompt: text, maxTokens: 6 })) text += part;
console.log(
  JSON.stringify({ pi, stopped: stopped.reason, found: found.pattern, baseline: baseline!.pattern, ratios, text }),
);
