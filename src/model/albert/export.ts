/** An ALBERT for others: the encoder, or one of its heads, as a program, and the config that Hugging Face reads beside its weights. */
import { reject } from "../../base/errors.ts";
import type { ProgramSource } from "../../engine/engine.ts";
import { reshape, simplifyNamed, type Tensor } from "../../graph/index.ts";
import { inference } from "../../nn/index.ts";
import type { Weights } from "../weights.ts";
import type { Albert, Encoded } from "./albert.ts";
import type { DescribedAlbert, HeadName, HeadOptions } from "./description.ts";
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

/** A head that reads more than Hugging Face's own would be another head there, so no class of its is named for it. */
function architectures(heads: HeadOptions): string[] {
  const names = Object.keys(heads) as HeadName[];
  const { pooling = "first" } = heads.classification ?? {};
  if (names.length === 0 || pooling !== "first") return ["AlbertModel"];
  return [heads.sentenceOrder ? classes.sentenceOrder : classes[names[0]!]];
}

/**
 * config.json as Hugging Face has it, with the heads beside it for an import; an encoder of blocks or of a depth in words, which it has
 * not, is described by its options.
 */
export function albertConfig(model: Albert, heads: HeadOptions): Record<string, unknown> {
  if (model.blocks || typeof model.options.depth === "string") {
    return { kind: "encoder", ...model.options, tasks: Object.keys(heads) };
  }
  const own = Object.keys(heads).length > 0 ? { layerwise: { kind: "albert", heads } } : {};
  return { architectures: architectures(heads), ...huggingFaceConfig(model.options), ...own };
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

/** What a model answers with one of its heads, under Hugging Face's names. */
export interface AnsweringProgram {
  /** The class that has such answers. */
  readonly architecture: string;
  readonly program: ProgramSource;
}

type Answers = Readonly<Record<string, Tensor>>;

/** Answers by head; the first head here that a model has is asked. */
const answers: Partial<Record<HeadName, (found: Answers, encoded: Encoded) => Answers>> = {
  maskedLanguage: ({ words }, { batch, length }) => ({ logits: reshape(words!, [batch, length, words!.shape[1]!]) }),
  classification: ({ classes }) => ({ logits: classes! }),
  questionAnswering: ({ starts, ends }) => ({ start_logits: starts!, end_logits: ends! }),
};

function answersOf({ heads }: DescribedAlbert, encoded: Encoded, who: string): { name?: HeadName; found: Answers } {
  const names = Object.keys(heads) as HeadName[];
  const known = Object.keys(answers) as HeadName[];
  const name = known.find((each) => heads[each]);
  if (name) return { name, found: answers[name]!(heads[name]!.logits(encoded, {}, inference), encoded) };
  if (names.length > 0) {
    const needed = `no head, or one of ${known.join(", ")}`;
    reject({ who, needed, got: names.join(", "), remedy: "export it as ONNX (the encoder) or for huggingface" }, 2);
  }
  const { sequence, pooled, batch, length } = encoded;
  const states = reshape(sequence, [batch, length, sequence.shape[1]!]);
  return { found: { last_hidden_state: states, ...(pooled ? { pooler_output: pooled } : {}) } };
}

/**
 * A model with its head: `ids`, `mask`, `types` int32 [B, T] → `logits`; `start_logits` and `end_logits` where answers are looked for;
 * `last_hidden_state` and `pooler_output` without a head. Where tokens halt, `updates` [B, T] too. `who` asks, for errors.
 */
export function answeringProgram(described: DescribedAlbert, weights: Weights, who: string): AnsweringProgram {
  const encoded = described.model.encode(textInputs({ batch: "B", length: "T" }));
  const { name, found } = answersOf(described, encoded, who);
  const { updates } = encoded.probes;
  const outputs = simplifyNamed({ ...found, ...(updates ? { updates: reshape(updates, ["B", "T"]) } : {}) });
  const asked = name ? described.heads[name]!.parameters : [];
  const own = new Set([...described.model.parameters, ...asked].map(({ tensor }) => tensor));
  const used = new Map([...weights].filter(([tensor]) => own.has(tensor)));
  return { architecture: name ? classes[name] : "AlbertModel", program: { outputs, weights: used } };
}
