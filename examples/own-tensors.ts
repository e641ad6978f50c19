/** A shared encoder with a head of your own, on tensors of your own: does a series rise or fall? */
import { accuracy, arrayBatches, cycleReverse, graph, nn, ParameterSharedTransformerEncoder, train } from "layerwise";

const plan = cycleReverse({ unique: 2, depth: 4 }); // two layers of weights, four run
const encoder = new ParameterSharedTransformerEncoder({ dModel: 8, nhead: 2, dimFeedforward: 32, plan, dropout: 0 });
const head = new nn.Linear("head", { in: 8, out: 2, role: "head" });
const model = {
  parameters: [...encoder.parameters, ...head.parameters],
  objective: ({ batch }: { batch: number }) => {
    const inputs = { series: graph.input("series", [batch, 12, 8]), label: graph.input("label", [batch], "int") };
    const logits = head.apply(graph.mean(encoder.apply(inputs.series), { axes: [1] }));
    return { loss: graph.mean(graph.crossEntropy(logits, inputs.label)), inputs, outputs: { logits } };
  },
};

function data(rows: number, seed: number) {
  const label = Int32Array.from({ length: rows }, (_, row) => Number(Math.sin(seed + row * row) > 0));
  const value = (k: number) => (label[Math.floor(k / 96)]! - 0.5) * (Math.floor(k / 8) % 12) + 9 * Math.sin(seed * k);
  const series = Float32Array.from({ length: rows * 96 }, (_, k) => value(k));
  return arrayBatches({ label, series }, { rows, batch: 16 });
}
const how = { steps: 120, rate: 0.003, metrics: { accuracy: accuracy("logits", "label") }, decisive: "accuracy" };
const { best, evaluation } = await train(model, { data: { train: data(512, 1), valid: data(128, 2) }, ...how }).result;
console.log(`accuracy ${evaluation!.scalars!.accuracy!.toFixed(3)}, best at step ${best!.step}`);
