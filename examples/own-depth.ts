/** A block and a depth policy of your own: trained, generated from, reported, exported to ONNX. */
import { writeFileSync } from "node:fs";
import * as lw from "layerwise";

const layer = new lw.nn.TransformerBlock("layer", { width: 48, heads: 4, hidden: 96, dropout: 0, activation: "silu" });
const gate = new lw.nn.Linear("gate", { in: 48, out: 48 });
const gated: lw.nn.Block = {
  parameters: [...layer.parameters, ...gate.parameters],
  apply: (x, context) => lw.graph.multiply(layer.apply(x, context), lw.graph.sigmoid(gate.apply(x))),
};
const twice: lw.DepthPolicy = {
  parameters: gated.parameters,
  depth: 2,
  apply: (x, context) => ({ hidden: gated.apply(gated.apply(x, context), context), probes: {} }),
};

const corpus = await lw.openCorpus("books");
const tokenizer = await lw.trainTokenizer(corpus, { pieces: 500 });
const model = lw.languageModel({ vocabulary: 500, width: 48, length: 32, depth: twice });
const data = { train: await lw.openBatches(corpus, "train", tokenizer, { batch: 16, length: 32 }) };
const trained = await lw.train(model, { data, steps: 200, rate: 0.005 }).result;
for await (const text of lw.generate(trained, { tokenizer, prompt: "Alice" })) process.stdout.write(text);
console.log("\n", lw.reportOn(model, { length: 32 }));
writeFileSync("own-depth.onnx", lw.exportOnnx(model, trained.weights));
