/** Text from a trained model, with the engine and the tokenizer that it came with. */
import { reject } from "../base/errors.ts";
import type { Engine } from "../engine/engine.ts";
import type { DraftedOptions, TextCoder, Trained } from "../model/generation.ts";
import { defaultEngine } from "./engine.ts";

/** A tokenizer, or what opening one gives. */
export type AnyTokenizer = TextCoder | { readonly tokenizer: TextCoder };

/** What is continued, and how. */
export interface GenerateOptions<Reading = unknown> extends DraftedOptions {
  /** Default: the one that the model was trained with, where it came with it. */
  readonly tokenizer?: AnyTokenizer | undefined;
  /** Default: ONNX Runtime. */
  readonly engine?: Engine | undefined;
  /** How a model with memory reads: steps of memory, mixture of blocks. */
  readonly reading?: Reading | undefined;
}

/** Continues a text with any causal model; yields what is new in it. */
export async function* generate<Reading>(
  trained: Trained<Reading> & { readonly tokenizer?: AnyTokenizer },
  { tokenizer = trained.tokenizer, engine, reading, ...options }: GenerateOptions<Reading>,
): AsyncGenerator<string> {
  if (!tokenizer)
    return reject({ who: "generate", needed: "a tokenizer", got: "none", remedy: "give one as an option" }, 2);
  const { generate: generateOn } = await import("../model/generation.ts");
  const coder = "tokenizer" in tokenizer ? tokenizer.tokenizer : tokenizer;
  const how = { ...options, tokenizer: coder, engine: engine ?? (await defaultEngine()) };
  yield* generateOn(trained, reading === undefined ? how : { ...how, reading });
}
