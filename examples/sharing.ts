/** Three layers of weights, run six times: the parameter-shared encoder, its trace, and what sharing saves and does not. */
import { writeFileSync } from "node:fs";
import * as lw from "layerwise";

const encoder = new lw.ParameterSharedTransformerEncoder({ dModel: 64, nhead: 4, dimFeedforward: 256 });
const unshared = new lw.ParameterSharedTransformerEncoder({ ...encoder.options, plan: [0, 1, 2, 3, 4, 5] });
console.log(lw.pictures.drawPlan(encoder.plan));

const weights = lw.initialise(encoder.parameters, 1);
const program = await lw.EncoderProgram.create(await lw.ortEngine(), encoder, weights);
const x = { data: Float32Array.from({ length: 8 * 100 * 64 }, (_, i) => Math.sin(i)), shape: [8, 100, 64] };
const trace: number[] = [];
const y = await program.forward(x, { verbose: (layer) => trace.push(layer) });
await program.release();
console.log(`ran layers ${trace.join(" ")}: ${x.shape.join(" × ")} → ${y.shape.join(" × ")}`);

for (const [name, each] of Object.entries({ shared: encoder, unshared })) {
  const { flops } = lw.graph.cost([each.apply(lw.graph.input("x", x.shape))]);
  const parameters = lw.models.countParameters(each.parameters);
  console.log(`${name}: ${parameters.toLocaleString("en")} parameters, ${(flops / 1e6).toFixed(0)} MFLOPs`);
}
// PyTorch's names: load it there with safetensors.torch.load_file.
writeFileSync("encoder.safetensors", lw.writeSafetensors(lw.stateDict(encoder.parameters, weights)));
