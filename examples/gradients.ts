/** A graph, its gradient, and what both look like: no model needed. */
import { graph as g, ortEngine } from "layerwise";

export async function example(): Promise<{ printed: string; slope: number[] }> {
  const x = g.input("x", ["N", 3]);
  const loss = g.sum(g.softmax(g.multiply(x, x)));
  const [slope] = g.simplify(g.gradients(loss, [x]));
  const engine = await ortEngine({ threads: 1 });
  const program = await engine.compile({ outputs: { slope: slope! } });
  const result = await program.run({ x: { data: Float32Array.of(1, 2, 3), shape: [1, 3] } });
  await program.release();
  return { printed: g.print({ slope: slope! }), slope: [...result.slope!.data] };
}

if (process.argv[1]?.includes("examples")) {
  const { printed, slope } = await example();
  console.log(`${printed}\n${slope.map((each) => each.toFixed(4)).join(" ")}`);
}
