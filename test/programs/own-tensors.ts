/** A shared encoder with a head of your own, on tensors of your own: does a series rise or fall? */
import { cycleReverse, graph, type Metric, nn, ParameterSharedTransformerEncoder, train } from "layerwise";

const [rows, length, width] = [16, 12, 8];
const plan = cycleReverse({ unique: 2, depth: 4 });
const encoder = new ParameterSharedTransformerEncoder({
  dModel: width,
  nhead: 2,
  dimFeedforward: 32,
  plan,
  dropout: 0,
});
const head = new nn.Linear("head", { in: width, out: 2, role: "head" });
const model = {
  parameters: [...encoder.parameters, ...head.parameters],
  objective: () => {
    const inputs = { series: graph.input("series", [rows, length, width]), label: graph.input("label", [rows], "int") };
    const logits = head.apply(graph.mean(encoder.apply(inputs.series), { axes: [1] }));
    return { loss: graph.mean(graph.crossEntropy(logits, inputs.label)), inputs, outputs: { logits } };
  },
};
const batch = (i: number) => {
  const label = Int32Array.from({ length: rows }, (_, row) => (i * 7 + row * 5) % 2);
  const value = (_: unknown, k: number) =>
    (label[Math.floor(k / width / length)] ? 1 : -1) * (Math.floor(k / width) % length) + Math.sin(i + k);
  return { label, series: Float32Array.from({ length: rows * length * width }, value) };
};
const series = (first: number) => ({ count: 8, rows, at: (i: number) => batch(first + i) });
const right = (scores: ArrayLike<number>, label: number, row: number) =>
  Number(scores[2 * row + label]! > scores[2 * row + 1 - label]!);
const accuracy: Metric = ({ logits }, { label }) =>
  Array.from(label!).reduce((sum, each, row) => sum + right(logits!.data, each, row) / rows, 0);
const { best, evaluation, reason } = await train(model, {
  data: { train: series(0), valid: series(100) },
  steps: 60,
  rate: 0.003,
  metrics: { accuracy },
  decisive: "accuracy",
}).result;
console.log(JSON.stringify({ reason, best: best!.step, accuracy: evaluation!.scalars!.accuracy }));
