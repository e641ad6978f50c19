/** An ALBERT with its heads as plain data, and the model such data stand for. */
import { reject } from "../../base/errors.ts";
import { checkOptions } from "../../base/options.ts";
import type { Parameter } from "../../nn/index.ts";
import { type Albert, type AlbertOptions, albert } from "./albert.ts";
import { blockEncoder } from "./block-encoder.ts";
import * as heads from "./heads.ts";

/** The heads a model has, each with its options. */
export interface HeadOptions {
  maskedLanguage?: heads.MaskedLanguageOptions;
  sentenceOrder?: heads.SentenceOrderOptions;
  classification?: heads.ClassificationOptions;
  tokenClassification?: heads.TokenClassificationOptions;
  questionAnswering?: Record<string, never>;
  multipleChoice?: heads.MultipleChoiceOptions;
}

/** The heads there are. */
export type HeadName = keyof HeadOptions;

/** An ALBERT and its heads as plain data. */
export interface AlbertDescription {
  readonly model: AlbertOptions;
  readonly heads: HeadOptions;
}

/** A model and its heads, in the order of their description. */
export interface DescribedAlbert {
  readonly model: Albert;
  readonly heads: Readonly<Partial<Record<HeadName, heads.Head>>>;
  /** Of the model and of all heads. */
  readonly parameters: readonly Parameter[];
}

const builders: { readonly [K in HeadName]: (model: Albert, options: Required<HeadOptions>[K]) => heads.Head } = {
  maskedLanguage: heads.maskedLanguageHead,
  sentenceOrder: heads.sentenceOrderHead,
  classification: heads.classificationHead,
  tokenClassification: heads.tokenClassificationHead,
  questionAnswering: heads.questionAnsweringHead,
  multipleChoice: heads.multipleChoiceHead,
};

function headOf<K extends HeadName>(name: K, model: Albert, options: Required<HeadOptions>[K]): heads.Head {
  return builders[name](model, options);
}

/** Builds what is described. */
export function describedAlbert({ model: options, heads: wanted }: AlbertDescription): DescribedAlbert {
  checkOptions("heads", wanted, Object.keys(builders));
  const model = (options.blocks === undefined ? albert : blockEncoder)(options);
  const names = (Object.keys(wanted) as HeadName[]).filter((name) => wanted[name] !== undefined);
  const heads = Object.fromEntries(names.map((name) => [name, headOf(name, model, wanted[name]!)]));
  const parameters = [...model.parameters, ...Object.values(heads).flatMap((head) => [...head.parameters])];
  const twice = parameters.find(({ name }, i) => parameters.findIndex((other) => other.name === name) < i);
  if (twice) {
    const needed = "heads with weights of different names";
    reject({ who: "heads", needed, got: `${names.join(" and ")}, which both own ${twice.name}` }, 2);
  }
  return { model, heads, parameters };
}
