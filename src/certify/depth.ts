/** Certifies depth policies against PyTorch, in a small language model: logits and reports of use, loss of training and every gradient. */
import { type DepthPolicy, depth, type Engine, graph, languageModel, nn } from "../index.ts";
import { compare, type Finding, floats, type GoldenCase, integers, namesUnder } from "./case.ts";

/** Options of a policy as the case has them, with the kind and the numbers of its blocks. */
type PolicyConfig = { readonly kind: string; readonly use?: never } & Readonly<Record<string, never>>;

interface Config {
  readonly vocabulary: number;
  readonly width: number;
  readonly heads: number;
  readonly hidden: number;
  readonly length: number;
  readonly batch: number;
  readonly blocks: number;
  readonly policy: PolicyConfig;
}

/** A policy for training, and the same weights as they are used. */
interface Opened {
  readonly policy: DepthPolicy;
  readonly use: DepthPolicy;
}

type Open = (blocks: readonly nn.Block[], options: PolicyConfig, width: number) => Opened;

const kinds: Readonly<Record<string, Open>> = {
  looped: (blocks, { kind: _, use, prelude, core, coda, ...options }, width) => {
    const part = (numbers: readonly number[]) => numbers.map((i) => blocks[i]!);
    const parts = { prelude: part(prelude!), core: part(core!), coda: part(coda!) };
    const policy = depth.looped({ ...parts, ...(options as { loops: never }), width });
    return { policy, use: policy.at(use!) };
  },
  exits: (blocks, { kind: _, plan, ...options }, width) => {
    const policy = depth.exits(blocks, plan!, { ...options, width });
    return { policy, use: policy };
  },
  routed: (blocks, { kind: _, plan, ...options }, width) => {
    const policy = depth.routed(blocks, plan!, { ...(options as { choice: never }), width });
    return { policy, use: policy };
  },
  relaxed: (blocks, { plan, relax }, width) => {
    const [order, options]: [readonly number[], object] = [plan!, relax!];
    const visits = (block: number) => order.filter((each) => each === block).length;
    const own = blocks.map((block, i) => depth.relaxed(block, visits(i), { ...options, width }));
    const policy = depth.fixed(own, order);
    return { policy, use: policy };
  },
  layerDropout: (blocks, { kind: _, plan, use, ...options }) => {
    const policy = depth.layerDropout(blocks, plan!, options);
    return { policy, use: policy.at(use!) };
  },
};

const configOf = (golden: GoldenCase) => golden.about.config as Config;

export function covers(golden: GoldenCase): boolean {
  return configOf(golden).policy.kind in kinds;
}

export async function certify(golden: GoldenCase, engine: Engine): Promise<Finding[]> {
  const { policy: options, blocks: count, batch, length, vocabulary, width, ...sizes } = configOf(golden);
  const blocks = Array.from({ length: count }, (_, i) => {
    return new nn.TransformerBlock(`blocks.${i}`, { ...sizes, width, dropout: 0, activation: "gelu" });
  });
  const { policy, use } = kinds[options.kind]!(blocks, options, width);
  const [model, used] = [policy, use].map((each) => languageModel({ vocabulary, width, length, depth: each }));

  const { loss } = model!.objective({ batch, length, training: true });
  const slopes = graph.gradients(
    loss,
    model!.parameters.map(({ tensor }) => tensor),
  );
  const named = slopes.map((slope, i) => [`grad.${model!.parameters[i]!.name}`, slope] as const);
  const trained = await run(golden, engine, { loss, ...Object.fromEntries(named) });
  const ids = graph.input("ids", [batch, length], "int");
  const { probes } = used!.deepened(ids);
  const reported = namesUnder(golden, "output.").filter((name) => name in probes);
  const outputs = Object.fromEntries(reported.map((name) => [`output.${name}`, probes[name]!]));
  const seen = await run(golden, engine, { "output.logits": used!.logits(ids), ...outputs });
  return [...trained, ...seen];
}

/** Runs outputs on the numbers of the case, and compares each with the number of its name. */
async function run(golden: GoldenCase, engine: Engine, outputs: Readonly<Record<string, graph.Tensor>>) {
  const numbers = (name: string) => (/ids|targets/.test(name) ? integers(golden, name) : floats(golden, name));
  const under = (prefix: string) => namesUnder(golden, prefix).map((name) => [name, numbers(`${prefix}${name}`)]);
  const program = await engine.compile({ outputs: graph.simplifyNamed(outputs) });
  const needed = new Set(program.inputs.map(({ name }) => name));
  const feeds = [...under("weight."), ...under("input.")].filter(([name]) => needed.has(name as string));
  const found = await program.run(Object.fromEntries(feeds));
  const findings = Object.keys(outputs).map((name) => compare(name, found[name]!.data, floats(golden, name)));
  await program.release();
  return findings;
}
