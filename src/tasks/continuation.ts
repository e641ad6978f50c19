/** Text from a model, piece by piece as it comes. */
import { reject } from "../base/errors.ts";
import type { GenerationOptions } from "../model/language/generation.ts";
import type { Tokenizer } from "../text/tokenizer.ts";

/** What is continued, and how pieces are chosen. */
export type TextOptions = Omit<GenerationOptions, "prompt" | "stop"> & {
  prompt: string;
  /** Ends the text before this. */
  stop?: string | undefined;
};

/** Continues the prompt with the ids that `generate` gives after it; yields what is new in the text. A stop text ends it and is not given out. */
export async function* continueText(
  tokenizer: Tokenizer,
  generate: (prompt: number[]) => AsyncIterable<number>,
  { prompt, stop }: { prompt: string; stop?: string | undefined },
): AsyncGenerator<string> {
  const start = [...tokenizer.encode(prompt)];
  if (start.length === 0)
    reject({ who: "prompt", needed: "at least one piece of text", got: JSON.stringify(prompt) }, 2);
  const ids = [...start];
  let given = tokenizer.decode(ids);
  for await (const id of generate(start)) {
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
