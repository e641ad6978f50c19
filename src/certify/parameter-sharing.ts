/** Certifies parameter sharing against PyTorch: outputs, every depth where it is recorded, loss, and all gradients. */
import {
  EncoderDecoder,
  type Engine,
  type Feed,
  graph,
  loadStateDict,
  type models,
  nn,
  ParameterSharedTransformerEncoder,
} from "../index.ts";
import { compare, compareZero, type Finding, floats, type GoldenCase, namesUnder } from "./case.ts";

const { gradients, input, multiply, simplify, sum } = graph;
type Tensor = graph.Tensor;

interface Config {
  readonly d_model: number;
  readonly nhead: number;
  readonly dim_feedforward: number;
  readonly activation: nn.Activation;
  readonly norm: boolean;
  readonly norm_first?: boolean;
  readonly batch_first?: boolean;
  readonly layer_norm_eps?: number;
}

type Schedule = readonly number[] | { readonly encoder: readonly number[]; readonly decoder: readonly number[] };

/** A model on a case's inputs: what it computes, under the names of the case. */
interface Built {
  readonly parameters: readonly nn.Parameter[];
  readonly outputs: ReadonlyMap<string, Tensor>;
}

type Inputs = ReadonlyMap<string, Tensor>;

export function covers(): boolean {
  return true;
}

export async function certify(golden: GoldenCase, engine: Engine): Promise<Finding[]> {
  const inputs = inputsOf(golden);
  const { parameters, outputs } = build(golden, inputs);
  const weights = loadStateDict(parameters, storedWeights(golden), `${golden.folder}/${golden.name}`);
  const loss = sum(multiply(outputs.get("y")!, inputs.get("cotangent")!));
  const about = new Map<string, Tensor>(parameters.map(({ name, tensor }) => [name, tensor]));
  for (const name of namesUnder(golden, "grad.input.")) about.set(`input.${name}`, inputs.get(name)!);
  const slopes = gradients(loss, [...about.values()]);
  const named: [string, Tensor][] = [
    ...[...outputs].map(([name, tensor]): [string, Tensor] => [`output.${name}`, tensor]),
    ["loss", loss],
    ...[...about.keys()].map((name, i): [string, Tensor] => [`grad.${name}`, slopes[i]!]),
  ];
  const simple = simplify(named.map(([, tensor]) => tensor));
  const program = await engine.compile({
    outputs: Object.fromEntries(named.map(([name], i) => [name, simple[i]!])),
    weights,
  });
  const results = await program.run(feedsOf(golden, program.inputs));
  const expected = [...golden.tensors.keys()].filter((name) => /^(output\.|grad\.|loss$)/.test(name));
  const findings = expected.map((name) => finding(golden, name, results[name]));
  await program.release();
  return findings;
}

function finding(golden: GoldenCase, name: string, actual: Feed | undefined): Finding {
  if (!actual) return { tensor: name, error: Number.POSITIVE_INFINITY, tolerance: 1 };
  const zero = golden.about.zero_gradients as Record<string, { scale: number }> | undefined;
  const scale = zero?.[name.replace(/^grad\./, "")]?.scale;
  return scale === undefined ? compare(name, actual.data, floats(golden, name)) : compareZero(name, actual.data, scale);
}

/** Every tensor of the case that goes in, as a graph input of its shape. */
function inputsOf(golden: GoldenCase): Inputs {
  return new Map(
    namesUnder(golden, "input.").map((name) => {
      const { data, shape } = golden.tensors.get(`input.${name}`)!;
      const dtype: graph.DType = data instanceof Float32Array ? "float" : "bool";
      return [name, input(name, [...shape], dtype)];
    }),
  );
}

function feedsOf(golden: GoldenCase, wanted: readonly { readonly name: string }[]) {
  return Object.fromEntries(
    wanted.map(({ name }) => {
      const { data, shape } = golden.tensors.get(`input.${name}`)!;
      return [name, { data: data as Float32Array | Uint8Array, shape }];
    }),
  );
}

function storedWeights(golden: GoldenCase): Map<string, models.NamedTensor> {
  return new Map(namesUnder(golden, "weight.").map((name) => [name, golden.tensors.get(`weight.${name}`)!]));
}

function build(golden: GoldenCase, inputs: Inputs): Built {
  const schedule = golden.about.schedule as Schedule;
  return "encoder" in schedule ? buildBoth(golden, inputs, schedule) : buildEncoder(golden, inputs, schedule);
}

const styleOf = ({ activation, norm, norm_first: normFirst = false, batch_first: batchFirst }: Config) => ({
  activation,
  norm,
  normFirst,
  layout: batchFirst ? ("batch-first" as const) : ("sequence-first" as const),
});

function buildEncoder(golden: GoldenCase, inputs: Inputs, plan: readonly number[]): Built {
  const config = golden.about.config as Config;
  const encoder = new ParameterSharedTransformerEncoder({
    plan,
    dModel: config.d_model,
    nhead: config.nhead,
    dimFeedforward: config.dim_feedforward,
    layerNormEps: config.layer_norm_eps ?? 1e-5,
    ...styleOf(config),
  });
  const outputs = new Map<string, Tensor>();
  const y = encoder.apply(inputs.get("x")!, {
    mask: inputs.get("mask"),
    padding: inputs.get("src_key_padding_mask"),
    mode: nn.inference,
    trace: (_, depth, state) => outputs.set(`depth${depth}`, state),
  });
  return { parameters: encoder.parameters, outputs: outputs.set("y", y) };
}

function buildBoth(golden: GoldenCase, inputs: Inputs, plans: Exclude<Schedule, readonly number[]>): Built {
  const config = golden.about.config as Config;
  const model = new EncoderDecoder({
    width: config.d_model,
    heads: config.nhead,
    hidden: config.dim_feedforward,
    encoderPlan: plans.encoder,
    decoderPlan: plans.decoder,
    epsilon: config.layer_norm_eps ?? 1e-5,
    ...styleOf(config),
  });
  const { memory, y } = model.apply(inputs.get("src")!, inputs.get("tgt")!, {
    sourceMask: inputs.get("src_mask"),
    sourcePadding: inputs.get("src_key_padding_mask"),
    memoryMask: inputs.get("memory_mask"),
    targetMask: inputs.get("tgt_mask"),
    targetPadding: inputs.get("tgt_key_padding_mask"),
  });
  return { parameters: model.parameters, outputs: new Map(Object.entries({ memory, y })) };
}
