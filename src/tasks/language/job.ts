/** The job of a language model: predict the next piece of a text. */

import { reject } from "../../base/errors.ts";
import { parseDepth, planOfDepth, printDepth } from "../../depth/notation.ts";
import { type Plan, parsePlan, printPlan, shareModes } from "../../depth/plan.ts";
import { type DepthUse, usedDepth } from "../../depth/use.ts";
import type { Engine } from "../../engine/engine.ts";
import { type LanguageModel, languageModel } from "../../model/language/language.ts";
import { reportOn } from "../../model/report.ts";
import { defaultEngine } from "../engine.ts";
import { evaluatedFact, evaluatedPart, evaluationBatches } from "../evaluate.ts";
import { textFact } from "../facts.ts";
import { languageGroups } from "../groups.ts";
import type { Job } from "../job.ts";
import { batchesOf, type Data, type Given, openData, textHash, textSizeOf } from "../text-data.ts";
import { type TrainedModel, trainedJob } from "../trained-job.ts";
import { initialLanguage } from "./initial.ts";
import { type LanguageConfig, languageSettings } from "./settings.ts";

/** A language model, opened with its text. */
export interface LanguageParts {
  readonly settings: LanguageConfig;
  readonly data: Data;
  readonly model: LanguageModel;
  readonly engine: Engine;
}

/** Opens text, tokenizer, model and engine. */
export async function openLanguage(settings: LanguageConfig, given: Given = {}): Promise<LanguageParts> {
  modelOf(settings, 1); // mistakes show before data are opened
  const data = await openData(settings, given);
  const model = modelOf(settings, data.tokenizer.tokenizer.size);
  return { settings, data, model, engine: given.engine ?? (await defaultEngine(settings)) };
}

/** The job that trains it. */
export async function languageJob(parts: LanguageParts, given: Given = {}): Promise<Job<TrainedModel<LanguageModel>>> {
  const { data, model, engine } = parts;
  const { settings, initial } = await initialLanguage(parts.settings, model, modelOf, given.say);
  const valid = evaluatedPart(await batchesOf(settings, data, "valid", given.say), settings.evaluateTokens, "valid");
  return trainedJob({
    settings,
    config: languageSettings.yaml(settings),
    text: await textHash(data.corpus),
    engine,
    model,
    tokenizer: data.tokenizer,
    data: {
      train: await batchesOf(settings, data, "train", given.say),
      valid: evaluationBatches(valid.batches, settings.evaluationBatch),
    },
    validText: await textSizeOf(data, "valid"),
    groups: languageGroups(settings, model.parameters, engine),
    ...(depthIsMeasured(settings, model) ? { metrics: { depth: ({ depth }) => depth!.data[0]! } } : {}),
    initial,
    report: () => reportOn(model, { length: settings.length }),
    facts: [
      textFact(data.corpus, data.tokenizer),
      { what: "plan", value: planText(settings) },
      ...evaluatedFact(valid),
    ],
  });
}

/** Whether evaluations know how deep tokens ran. */
const depthIsMeasured = ({ batch, length }: LanguageConfig, model: LanguageModel) =>
  "outputs" in model.objective({ batch, length, training: false });

const planText = (settings: LanguageConfig) =>
  typeof settings.depth === "string" ? settings.depth : planOf(settings).join(" ");

/** Which block runs at each depth, at most. */
export function planOf(config: PlanSettings): Plan {
  const { depth, unique, share, plan } = config;
  if (plan !== null) return parsePlan(plan);
  if (typeof depth === "string") return planOfDepth(parseDepth(depth));
  return shareModes[share]({ depth, unique: unique ?? depth });
}

type PlanSettings = Pick<LanguageConfig, "depth" | "unique" | "share" | "plan">;

/** Settings of the same weights with what is changed at use time. */
export function inUse(settings: LanguageConfig, use: DepthUse): LanguageConfig {
  return { ...settings, depth: printDepth(usedDepth(parseDepth(depthText(settings)), use)), plan: null };
}

/** The depth in words; of settings that say it by numbers where blocks cycle a whole number of times. */
function depthText(settings: LanguageConfig): string {
  const { depth, halt } = settings;
  if (typeof depth === "string") return depth;
  const plan = planOf(settings);
  const unique = new Set(plan).size;
  if (plan.length % unique === 0 && plan.every((block, i) => block === i % unique)) {
    return `${unique}*${plan.length / unique}${halt ? ` halt(${haltWords(settings)})` : ""}`;
  }
  return reject({ who: "use", needed: "a depth in words, or blocks in a cycle", got: printPlan(plan) }, 2);
}

function haltWords(settings: LanguageConfig): string {
  return Object.entries(haltingOf(settings) ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");
}

/** What differs from the first style of blocks: config.json of the others stays as it was. */
function styleOf(config: LanguageConfig) {
  const { positions, rotaryBase, norm, normEpsilon, keyHeads, queryKeyNorm, gated, withoutBias, untied } = config;
  return {
    ...(positions === "learned" ? {} : { positions }),
    ...(rotaryBase === 10_000 ? {} : { rotaryBase }),
    ...(normEpsilon === 1e-5 ? {} : { normEpsilon }),
    ...(norm === "layer" ? {} : { norm }),
    ...(keyHeads === null ? {} : { keyHeads }),
    ...(queryKeyNorm ? { queryKeyNorm } : {}),
    ...(gated ? { gated } : {}),
    ...(withoutBias ? { bias: false } : {}),
    ...(untied ? { tied: false } : {}),
  };
}

/** The model that settings describe. */
export function modelOf(config: LanguageConfig, vocabulary: number): LanguageModel {
  const { width, heads, feedForward, length, dropout, activation, depth } = config;
  return languageModel({
    vocabulary,
    width,
    heads,
    length,
    dropout,
    activation,
    hidden: feedForward ?? 4 * width,
    ...(typeof depth === "string" ? { depth } : { plan: planOf(config), halting: haltingOf(config) }),
    ...styleOf(config),
  });
}

function haltingOf({ halt, ponder, ponderFrom, ponderWarmup, haltBias, accumulateStates }: LanguageConfig) {
  if (!halt) return undefined;
  return { ponder, ponderFrom, ponderWarmup, biasInitial: haltBias, accumulate: accumulateStates };
}
