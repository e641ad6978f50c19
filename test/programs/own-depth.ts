/** A block and a depth policy of your own: trained, generated from, exported to ONNX, reported. */
import {
  type DepthPolicy,
  exportOnnx,
  generate,
  graph,
  languageModel,
  nn,
  reportOn,
  textBatches,
  textCorpus,
  train,
  trainTokenizer,
} from "layerwise";

const lines = Array.from(
  { length: 400 },
  (_, i) =>
    `the ${["cat", "dog", "bird"][i % 3]} ${["sat", "ran", "sang"][(i >> 1) % 3]} on the ${["mat", "hill", "tree"][(i >> 2) % 3]}`,
);
const corpus = textCorpus({ train: lines, valid: lines.slice(0, 60) });
const tokenizer = await trainTokenizer(corpus, { pieces: 30 });

class Mixer implements nn.Block {
  readonly #inner = new nn.TransformerBlock("mixer", {
    width: 32,
    heads: 2,
    hidden: 64,
    dropout: 0,
    activation: "silu",
  });
  readonly parameters = this.#inner.parameters;
  apply = (x: graph.Tensor, context: nn.Context) => graph.multiply(this.#inner.apply(x, context), 0.5);
}
const block = new Mixer();
const twice: DepthPolicy = {
  parameters: block.parameters,
  depth: 2,
  apply: (x, context) => ({ hidden: block.apply(block.apply(x, context), context), probes: {} }),
};

const model = languageModel({ vocabulary: tokenizer.tokenizer.size, width: 32, length: 16, depth: twice });
const data = {
  train: textBatches(corpus, "train", tokenizer, { batch: 8, length: 16 }),
  valid: textBatches(corpus, "valid", tokenizer, { batch: 2, length: 16 }),
};
const trained = await train(model, { data, steps: 80, rate: 0.01, warmup: 5 }).result;
let text = "the cat";
for await (const part of generate(trained, { tokenizer, prompt: text, maxTokens: 8, temperature: 0 })) text += part;
console.log(
  JSON.stringify({
    loss: trained.evaluation!.loss,
    text,
    onnx: exportOnnx(model, trained.weights).length,
    report: reportOn(model, { length: 16 }),
  }),
);
