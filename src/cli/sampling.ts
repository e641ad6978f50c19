/** Text from a run, piece by piece as it comes. */
import { reject } from "../base/errors.ts";
import type { Engine } from "../engine/engine.ts";
import type { GenerationOptions } from "../model/generation.ts";
import type { LanguageModel } from "../model/language.ts";
import type { ParameterTensor } from "../train/memory.ts";
import type { Data } from "./session.ts";

export type TextOptions = Omit<GenerationOptions, "prompt" | "stop"> & { prompt: string; stop?: string };

/** Continues the prompt; yields what is new in the text. A stop text ends it and is not given out. */
export async function* continueText(
  { engine, model, data }: { engine: Engine; model: LanguageModel; data: Data },
  weights: ReadonlyMap<ParameterTensor, Float32Array>,
  { prompt, stop, ...options }: TextOptions,
): AsyncGenerator<string> {
  const { generate } = await import("../model/generation.ts");
  const { tokenizer } = data.tokenizer;
  const start = tokenizer.encode(prompt);
  if (start.length === 0)
    reject({ who: "prompt", needed: "at least one piece of text", got: JSON.stringify(prompt) }, 2);
  const ids = [...start];
  let given = tokenizer.decode(ids);
  for await (const id of generate(engine, model, weights, { ...options, prompt: start })) {
    ids.push(id);
    const text = tokenizer.decode(ids);
    // A character may still be incomplete where pieces are bytes.
    if (text.endsWith("\ufffd")) continue;
    const end = stop ? text.indexOf(stop, given.length - stop.length) : -1;
    yield text.slice(given.length, end >= 0 ? end : undefined);
    if (end >= 0) return;
    given = text;
  }
}
