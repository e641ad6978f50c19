/** Three layers of weights, run six times: the parameter-shared encoder, its trace, and what sharing saves and does not. */
import {
  EncoderProgram,
  graph,
  initialise,
  ortEngine,
  ParameterSharedTransformerEncoder,
  pictures,
  stateDict,
  writeSafetensors,
} from "layerwise";

export async function example() {
  const encoder = new ParameterSharedTransformerEncoder({ dModel: 64, nhead: 4, dimFeedforward: 256 });
  // Batch 8, 100 tokens, width 64.
  const x = { data: Float32Array.from({ length: 8 * 100 * 64 }, (_, i) => Math.sin(i)), shape: [8, 100, 64] };
  const weights = initialise(encoder.parameters, 1);
  const program = await EncoderProgram.create(await ortEngine({ threads: 1 }), encoder, weights);
  const trace: number[] = [];
  const y = await program.forward(x, { verbose: (layer) => trace.push(layer) });
  await program.release();

  // PyTorch's names: load it there with safetensors.torch.load_file.
  const bytes = writeSafetensors(stateDict(encoder.parameters, weights)).length;
  const unshared = new ParameterSharedTransformerEncoder({ ...encoder.options, plan: [0, 1, 2, 3, 4, 5] });
  const flops = (model: ParameterSharedTransformerEncoder) =>
    graph.cost([model.apply(graph.input("x", x.shape))]).flops;
  return {
    picture: pictures.drawPlan(encoder.plan),
    trace,
    shape: y.shape,
    bytes,
    savedFlops: flops(unshared) - flops(encoder),
  };
}

if (process.argv[1]?.includes("examples")) {
  const { picture, ...figures } = await example();
  console.log(picture, figures);
}
