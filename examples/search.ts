/** A search from data to text: π on the way, stopped and resumed, what was found retrained and generated from. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chooseTokenizer, generate, openCorpus, ortEngine, Run, retrain, search } from "layerwise";

/** What a search over four blocks finds on the embedded books in a few seconds; longer ones find better networks. */
export async function example(steps = 60) {
  const engine = await ortEngine({ threads: 1 });
  const corpus = await openCorpus("books");
  const tokenizer = await chooseTokenizer(undefined, corpus, { pieces: 600 });
  const model = { blocks: 4, width: 32, heads: 2, hidden: 64, memory: 8, cutoffs: [60, 240] };
  const training = { batch: 8, length: 16, steps, warmup: 10, rate: 0.01, evaluateEvery: steps / 2 };
  const quick = { evaluationBatch: 32, evaluationLength: 64, latency: { batch: 1, length: 16, memory: 32 } };

  const folder = mkdtempSync(join(tmpdir(), "layerwise-example-"));
  const into = await Run.create(join(folder, "search"));
  const session = search({ ...model, ...training, ...quick, data: { corpus, tokenizer }, engine, into });
  let probabilities: (readonly number[])[] = [];
  for await (const event of session) {
    if (event.type !== "evaluation") continue;
    probabilities = event.choices!.map((choice) => choice.probabilities); // π of each block
    break; // half-way: stopped after this step
  }
  const stopped = await session.result;

  // It goes on as if it had never stopped. A program gave its text, so it is handed over again.
  const run = await Run.open(into.path, "search");
  const found = await run.resume({ engine, corpus }).result;
  rmSync(folder, { recursive: true });

  // As long as the search, from scratch, beside (sf)x2; on a real text compare `fromSupernet: true` too.
  const { network, baseline, ratios } = await retrain(found, { data: { corpus }, engine }).result;
  let text = "it was";
  const how = { prompt: text, maxTokens: 20, temperature: 0.8, reading: { memory: 32 }, engine };
  for await (const part of generate(network, how)) text += part;
  return { probabilities, stopped, found, network, baseline: baseline!, ratios, text };
}

if (process.argv[1]?.includes("examples")) {
  const { probabilities, found, ratios, text } = await example();
  console.log(probabilities, found.pattern, ratios, text);
}
