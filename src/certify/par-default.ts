/** Certifies the default PAR Transformer-XL against PyTorch: hidden states, memories, losses, all gradients. */
import { adam, type Engine, graph, type ParModel, type ParOptions, parModel, training } from "../index.ts";
import { compare, type Finding, floats, type GoldenCase, integers } from "./case.ts";
import { evaluate, type ParSizes, type SoftmaxConfig } from "./par-names.ts";

type Kind = "attention" | "feed-forward" | "identity";

interface Config extends ParSizes, Omit<SoftmaxConfig, "projectionSizes"> {
  readonly hidden: number;
  readonly candidates: readonly (readonly Kind[])[];
  readonly temperature: "annealed" | "trained";
  readonly clampLength: number | null;
  readonly sameLength: boolean;
  readonly padding: number | null;
  readonly noisy: boolean;
}

function optionsOf({ batch, length, segments, noisy, candidates, clampLength, padding, ...sizes }: Config): ParOptions {
  return {
    ...sizes,
    blocks: candidates.map((kinds) => kinds.map((kind) => ({ kind }))),
    clampLength: clampLength ?? undefined,
    padding: padding ?? undefined,
  };
}

async function openStep(golden: GoldenCase, engine: Engine, model: ParModel, { batch, length, noisy }: Config) {
  const objective = model.objective({ batch, length, training: noisy });
  const recorded = objective.noise.map(({ tensor }) => tensor);
  const parameters = model.parameters.map(({ tensor }) => tensor);
  const mixtures = Object.entries(objective.probes).filter(([name]) => name.startsWith("mixture"));
  const step = await training.TrainingStep.create({
    engine,
    ...objective,
    inputs: { ...objective.inputs, ...Object.fromEntries(recorded.map((input) => [input.attributes.name, input])) },
    noise: [],
    probes: {
      hidden: objective.hidden,
      token_loss: objective.tokenLosses,
      ...Object.fromEntries(mixtures.map(([, tensor], i) => [`mixture${i}`, tensor])),
    },
    groups: [{ parameters, optimiser: adam() }],
    initial: new Map(parameters.map((tensor) => [tensor, floats(golden, `weight.${tensor.attributes.name}`)])),
    seed: 1,
  });
  const has = (name: string) => name in objective.inputs;
  return { step, has, noise: recorded.map(({ attributes }) => attributes.name) };
}

/** The filled, newest part of a memory. */
function filledPart(data: Float32Array, batch: number, filled: number): number[] {
  const each = data.length / batch;
  return Array.from({ length: batch }, (_, b) => [...data.subarray((b + 1) * each - filled, (b + 1) * each)]).flat();
}

export async function certifyDefault(golden: GoldenCase, engine: Engine): Promise<Finding[]> {
  const config = golden.about.config as Config;
  const model = parModel(optionsOf(config));
  const { step, has, noise } = await openStep(golden, engine, model, config);
  const findings: Finding[] = [];
  for (let i = 0; i < config.segments; i++) {
    const [from, to] = [`input.segment${i}.`, `output.segment${i}.`];
    const targets = integers(golden, `${from}targets`);
    const batch = {
      ids: integers(golden, `${from}ids`),
      targets,
      ...(has("missing") ? { missing: [model.missingAfter(i, config.length)] } : {}),
      ...(has("temperature") ? { temperature: floats(golden, "input.tau") } : {}),
      ...model.rowsOf(targets),
      ...Object.fromEntries(noise.map((name, k) => [name, floats(golden, `${from}gumbel${k}`)])),
    };
    const loss = await step.differentiate(step.inputsAmong<ArrayLike<number>>(batch));
    findings.push(compare(`${to}loss`, [loss], floats(golden, `${to}loss`)));
    for (const [name, { data }] of Object.entries(step.probes)) {
      findings.push(compare(`${to}${name}`, data, floats(golden, `${to}${name}`)));
    }
    [...step.carried.values()].forEach(({ data }, k) => {
      const expected = floats(golden, `${to}memory${k}`);
      const actual = filledPart(data, config.batch, expected.length / config.batch);
      findings.push(compare(`${to}memory${k}`, actual, expected));
    });
  }
  for (const [{ attributes }, gradient] of step.gradients) {
    findings.push(...gradientFindings(golden, attributes.name, gradient));
  }
  await step.release();
  return [...findings, ...(await wordFindings(golden, engine, model, config))];
}

/** The key third of the q, v, k bias changes nothing in exact arithmetic: held to 1e-6 of the whole bias. */
function gradientFindings(golden: GoldenCase, name: string, actual: Float32Array): Finding[] {
  const expected = floats(golden, `grad.${name}`);
  if (!name.endsWith("qvk.bias")) return [compare(`grad.${name}`, actual, expected)];
  const split = (expected.length * 2) / 3;
  const whole = compare(`grad.${name}`, actual, expected);
  return [whole, compare(`grad.${name} (query, value)`, actual.subarray(0, split), expected.subarray(0, split))];
}

async function wordFindings(golden: GoldenCase, engine: Engine, model: ParModel, config: Config): Promise<Finding[]> {
  const rows = config.batch * config.length;
  const hidden = graph.input("hidden", [rows, config.width]);
  const logs = model.words.logProbabilities(hidden);
  const parameters = model.words.parameters;
  const weights = new Map(parameters.map(({ name, tensor }) => [tensor, floats(golden, `weight.${name}`)]));
  const feeds = { hidden: floats(golden, `output.segment${config.segments - 1}.hidden`) };
  const found = await evaluate(engine, { logs, total: graph.sum(graph.exp(logs), { axes: [1] }) }, feeds, weights);
  return [
    compare("output.log_probabilities", found.logs!, floats(golden, "output.log_probabilities")),
    compare("sum of probabilities", found.total!, new Float32Array(rows).fill(1)),
  ];
}
