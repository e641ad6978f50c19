/** A small language model on the embedded books, four layers deep with two layers of weights: its loss, and its words. */
import { chooseTokenizer, cycle, generate, languageModel, openBatches, openCorpus, train } from "layerwise";

const corpus = await openCorpus("books");
const tokenizer = await chooseTokenizer(undefined, corpus, { pieces: 1000 });
const plan = cycle({ unique: 2, depth: 4 }); // 0 1 0 1
const model = languageModel({ vocabulary: 1000, width: 64, heads: 4, plan, length: 32, dropout: 0.1 });

const sizes = { batch: 8, length: 32 };
const [batches, valid] = await Promise.all([
  openBatches(corpus, "train", tokenizer, sizes),
  openBatches(corpus, "valid", tokenizer, sizes),
]);
const session = train(model, { data: { train: batches, valid }, steps: 300, evaluateEvery: 100, rate: 0.003 });
for await (const event of session) {
  if (event.type === "evaluation") console.log(`step ${event.step}: perplexity ${event.perplexity!.toFixed(1)}`);
}
const trained = await session.result;
for await (const text of generate(trained, { tokenizer, prompt: "Alice" })) process.stdout.write(text);
