/** Certifies our own language model against PyTorch: logits, loss, every gradient, and the losses of ten AdamW steps. */
import { adamw, type Engine, graph, type LanguageModelOptions, languageModel, training } from "../index.ts";
import { compare, compareZero, type Finding, floats, type GoldenCase, integers } from "./case.ts";

interface Config {
  readonly model: LanguageModelOptions;
  readonly batch: number;
  readonly steps: number;
  readonly rate: number;
  readonly weightDecay: number;
}

/** Sizes of the model, and how it is trained, out of one flat record. */
function configOf(golden: GoldenCase): Config {
  const { batch, steps, rate, weightDecay, ...model } = golden.about.config as Omit<Config, "model"> &
    LanguageModelOptions;
  return { model, batch, steps, rate, weightDecay };
}

export function covers(): boolean {
  return true;
}

export async function certify(golden: GoldenCase, engine: Engine): Promise<Finding[]> {
  const config = configOf(golden);
  const model = languageModel(config.model);
  const parameters = model.parameters.map(({ tensor }) => tensor);
  const weights = new Map(parameters.map((tensor) => [tensor, floats(golden, `weight.${tensor.attributes.name}`)]));
  const batch = { ids: integers(golden, "input.ids"), targets: integers(golden, "input.targets") };

  const ids = graph.input("ids", ["B", "T"], "int");
  const bound = new Map<graph.Tensor, Float32Array>(weights);
  const program = await engine.compile({ outputs: { logits: model.logits(ids) }, weights: bound });
  const { logits } = await program.run({ ids: { data: batch.ids, shape: [config.batch, config.model.length] } });
  const findings = [compare("output.logits", logits!.data, floats(golden, "output.logits"))];
  await program.release();

  const objective = model.objective({ batch: config.batch, length: config.model.length, training: true });
  const groups = [{ parameters, optimiser: adamw({ weightDecay: config.weightDecay }) }];
  const step = await training.TrainingStep.create({ engine, ...objective, groups, initial: weights, seed: 1 });
  findings.push(compare("loss", [await step.differentiate(batch)], floats(golden, "loss")));
  for (const [tensor, gradient] of step.gradients)
    findings.push(gradientFinding(golden, tensor.attributes.name, gradient));
  const losses: number[] = [];
  for (let i = 0; i < config.steps; i++) losses.push((await step.run(batch, config.rate)).loss);
  findings.push(compare("output.losses", losses, floats(golden, "output.losses")));
  await step.release();
  return findings;
}

function gradientFinding(golden: GoldenCase, name: string, gradient: Float32Array): Finding {
  const zero = golden.about.zero_gradients as Record<string, { scale: number }> | undefined;
  const scale = zero?.[name]?.scale;
  const tensor = `grad.${name}`;
  return scale === undefined ? compare(tensor, gradient, floats(golden, tensor)) : compareZero(tensor, gradient, scale);
}
