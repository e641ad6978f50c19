/** A trained language model for others: a program for any runtime, and the configuration beside its weights. */
import type { ProgramSource } from "../../engine/engine.ts";
import { input, reshape, simplifyNamed } from "../../graph/index.ts";
import { boundWeights, type Weights } from "../weights.ts";
import type { CompleteLanguageOptions, LanguageModel } from "./language.ts";

/**
 * The program of inference: `ids` int32 [B, T] → `logits` [B, T, V], any batch and any length up to the model's, and `updates` [B, T],
 * the blocks that each token passed through, where tokens halt. A weight stands in it once, however many depths use it.
 */
export function languageProgram(model: LanguageModel, weights: Weights): ProgramSource {
  const ids = input("ids", ["B", "T"], "int");
  const { updates } = model.deepened(ids).probes;
  const named = { logits: model.logits(ids), ...(updates ? { updates: reshape(updates, ["B", "T"]) } : {}) };
  return { outputs: simplifyNamed(named), weights: boundWeights(model, weights) };
}

/** config.json of a language model. */
export type ExportedConfig = CompleteLanguageOptions & { readonly kind: "language-model" };

/**
 * What the weights need to become a model again: `languageModel(exportConfig(model))` has the same parameters. Of a model over an own
 * policy it holds the sizes only, since a policy is no data.
 */
export function exportConfig(model: LanguageModel): ExportedConfig {
  return { kind: "language-model", ...model.options };
}
