/** A search from text to text: π on the way, stopped and resumed, what was found retrained and generated from. */
import { generate, openCorpus, Run, retrain, search } from "layerwise";

const corpus = await openCorpus("books");
const into = await Run.create(`runs/search-${Date.now()}`);
const session = search({ preset: "quick", steps: 200, evaluateEvery: 50, data: { corpus }, into });
for await (const event of session) {
  if (event.type !== "evaluation") continue;
  const shares = event.choices!.map(({ probabilities }) => probabilities.map((share) => share.toFixed(2)).join("/"));
  console.log(`step ${event.step}, π of attention/feed-forward/identity: ${shares.join("  ")}`);
  if (event.step === 100) break; // stopped after this step
}
const { reason, steps } = await session.result;

// It goes on as if it had never stopped.
const run = await Run.open(into.path, "search");
const found = await run.resume({ corpus }).result;
console.log(`${reason} at ${steps}, ${found.reason} at ${found.steps}: found ${found.pattern}`);

const { network, baseline } = await retrain(found, { data: { corpus } }).result;
const figures = [network, baseline!].map(({ pattern, perplexity }) => `${pattern} ${perplexity.toFixed(1)}`);
console.log(`perplexity after retraining: ${figures.join(", baseline ")}`);
for await (const text of generate(network, { prompt: "it was", maxTokens: 20 })) process.stdout.write(text);
