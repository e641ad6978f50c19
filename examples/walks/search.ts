/** A walk through search: candidates, π as it moves, what was found beside the baseline. `node search.js [updates]`, by default 600. */
import * as lw from "layerwise";

const steps = Number(process.argv[2] ?? 600);
const say = (title: string) => console.log(`\n── ${title}`);

say("Six blocks; each may be attention (s), feed-forward (f) or identity (i), and all three are mixed by π at first");
const corpus = await lw.openCorpus("books");
const settings = {
  blocks: 6,
  candidates: "s,f,i",
  pieces: 1000,
  width: 64,
  heads: 2,
  feedForward: 256,
  batch: 16,
  cutoffs: [],
  dropout: 0,
  rate: 0.004,
  warmup: Math.ceil(steps / 20),
  latency: { batch: 1, length: 16, memory: 32 },
};
console.log(lw.printPattern(lw.parsePattern("(sf)x3")), "is the baseline: attention and feed-forward in turn");

say("The temperature τ falls from 5 to 0.1: draws get surer, and blocks settle, the surest first");
const session = lw.search({
  ...settings,
  data: { corpus },
  steps,
  freeze: 0.15,
  architectureRate: 0.1,
  temperatureStart: 5,
  temperatureEnd: 0.1,
  settle: [0.25, 0.6],
  cutEvery: Math.ceil(steps / 20),
  evaluateEvery: Math.ceil(steps / 4),
});
let temperature = 5;
for await (const event of session) {
  if (event.type === "step") temperature = event.scalars?.temperature ?? temperature;
  if (event.type !== "evaluation") continue;
  const names = [...new Set(event.choices!.flatMap((choice) => choice.names))];
  const shares = event.choices!.map((choice) =>
    names.map((name) => choice.probabilities[choice.names.indexOf(name)] ?? 0),
  );
  console.log(`step ${event.step}, τ ${temperature.toFixed(2)}, valid perplexity ${event.perplexity!.toFixed(1)}`);
  console.log(lw.pictures.heatMap(shares, names, process.stdout.isTTY));
}
const found = await session.result;
console.log(`found ${found.pattern}`);

say("The found network from scratch, beside the baseline");
const how = { steps: Math.ceil(steps / 2), warmup: Math.ceil(steps / 20), evaluateEvery: steps };
const { network, baseline } = await lw.retrain(found, { ...how, data: { corpus } }).result;
for (const each of [network, baseline!]) {
  const size = `${each.parameters.toLocaleString("en")} parameters, ${each.latencyMs!.toFixed(2)} ms`;
  console.log(`${each.pattern.padEnd(12)}  ${size}, perplexity ${each.perplexity.toFixed(1)}`);
}
