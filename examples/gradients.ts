/** A graph, its gradient, and what both look like: no model needed. */
import { graph as g, ortEngine } from "layerwise";

// How far the second of three classes is from certain, as a function of the scores.
const scores = g.input("scores", ["N", 3]);
const loss = g.sum(g.crossEntropy(scores, g.input("labels", ["N"], "int")));
const [slope] = g.simplify(g.gradients(loss, [scores]));
console.log(g.print({ slope: slope! }));

const engine = await ortEngine();
const program = await engine.compile({ outputs: { loss, slope: slope! } });
const feeds = {
  scores: { data: Float32Array.of(1, 2, 3), shape: [1, 3] },
  labels: { data: Int32Array.of(1), shape: [1] },
};
const { loss: value, slope: gradient } = await program.run(feeds);
await program.release();
console.log(
  `loss ${value!.data[0]!.toFixed(4)}, gradient ${Array.from(gradient!.data, (each) => each.toFixed(4)).join(" ")}`,
);
