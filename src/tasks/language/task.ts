/** The language-model task: predict the next piece of a text. */
import { formatNumber } from "../../base/table.ts";
import { ponderScale } from "../../depth/halting.ts";
import type { Engine } from "../../engine/engine.ts";
import type { LanguageModel } from "../../model/language/language.ts";
import { reportOn } from "../../model/report.ts";
import type { ParameterTensor } from "../../train/memory.ts";
import { commandName } from "../environment.ts";
import { batchesOf, type Data, modelOf, openData, textSizeOf } from "./parts.ts";
import type { Config } from "./settings.ts";
import type { Say, Task } from "./trainable.ts";

export interface LanguageTask extends Task {
  readonly data: Data;
  readonly model: LanguageModel;
}

export async function openLanguage(config: Config, say: Say, kept?: string): Promise<LanguageTask> {
  const data = await openData(config, say, kept);
  const model = modelOf(config, data.tokenizer.tokenizer.size);
  return {
    data,
    model,
    parameters: model.parameters,
    tokenizer: data.tokenizer,
    objective: (size) => model.objective(size),
    ...(model.policy.scalars?.ponderScale ? { scalars: () => warmth(config.ponderWarmup) } : {}),
    batches: (split, warn) => batchesOf(config, data, split, warn),
    textSize: (split) => textSizeOf(data, split),
    report: () => reportOn(model, { length: config.length }),
    describe: () => describe(data, model),
    afterword: (path, engine, weights) => afterword(path, { engine, data, model }, weights),
  };
}

/** How much of the penalty on depth counts at a step. */
function warmth(warmup: number): (step: number) => Record<string, number> {
  const scale = ponderScale(warmup);
  return (step) => ({ ponderScale: scale(step) });
}

function describe({ corpus, tokenizer }: Data, model: LanguageModel) {
  return [
    { what: "corpus", value: `${corpus.name}, ${tokenizer.name} (${formatNumber(tokenizer.tokenizer.size)} pieces)` },
    { what: "plan", value: model.options.plan.join(" ") },
  ];
}

const PROMPT = "it was";

/** A few words, so that one sees what was learnt. */
async function afterword(
  path: string,
  { engine, data, model }: { engine: Engine; data: Data; model: LanguageModel },
  weights: ReadonlyMap<ParameterTensor, Float32Array>,
): Promise<string> {
  const { continueText } = await import("../continuation.ts");
  const { generate } = await import("../../model/language/generation.ts");
  const ids = (prompt: number[]) =>
    generate(engine, model, weights, { prompt, maxTokens: 40, temperature: 0.7, seed: 1 });
  let text = PROMPT;
  for await (const part of continueText(data.tokenizer.tokenizer, ids, { prompt: PROMPT })) text += part;
  return [
    `sample: ${text}`,
    "next:",
    `  ${commandName()} generate ${path} --prompt "it was"`,
    `  ${commandName()} eval ${path} --split test`,
    `  ${commandName()} runs show ${path}`,
  ].join("\n");
}
