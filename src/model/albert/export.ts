/** An ALBERT for others: the encoder as a program, and the config that Hugging Face reads beside its weights. */
import type { ProgramSource } from "../../engine/engine.ts";
import { reshape, simplifyNamed, type Tensor } from "../../graph/index.ts";
import type { Weights } from "../weights.ts";
import type { Albert } from "./albert.ts";
import type { HeadName } from "./description.ts";
import { textInputs } from "./heads.ts";
import { huggingFaceConfig } from "./weights.ts";

/** The classes that load the files; where several heads stand side by side it is the one for pre-training. */
const classes: Readonly<Record<HeadName, string>> = {
  maskedLanguage: "AlbertForMaskedLM",
  sentenceOrder: "AlbertForPreTraining",
  classification: "AlbertForSequenceClassification",
  tokenClassification: "AlbertForTokenClassification",
  questionAnswering: "AlbertForQuestionAnswering",
  multipleChoice: "AlbertForMultipleChoice",
};

type Heads = Readonly<Partial<Record<HeadName, unknown>>>;

function architectures(heads: Heads): string[] {
  const names = Object.keys(heads) as HeadName[];
  if (names.length === 0) return ["AlbertModel"];
  return [heads.sentenceOrder ? classes.sentenceOrder : classes[names[0]!]];
}

/** config.json as Hugging Face has it. */
export function albertConfig(model: Albert, heads: Heads): Record<string, unknown> {
  return { architectures: architectures(heads), ...huggingFaceConfig(model.options) };
}

/** The encoder: `ids`, `mask`, `types` int32 [B, T] → `sequence` [B, T, C], `pooled` [B, C], and `updates` [B, T] where tokens halt. */
export function albertProgram(model: Albert, weights: Weights): ProgramSource {
  const inputs = textInputs({ batch: "B", length: "T" });
  const { sequence, pooled, probes } = model.encode(inputs);
  const named: Record<string, Tensor> = {
    sequence: reshape(sequence, ["B", "T", model.options.width]),
    ...(pooled ? { pooled } : {}),
    ...(probes.updates ? { updates: reshape(probes.updates, ["B", "T"]) } : {}),
  };
  const own = new Set(model.parameters.map(({ tensor }) => tensor));
  return { outputs: simplifyNamed(named), weights: new Map([...weights].filter(([tensor]) => own.has(tensor))) };
}
