/** Reads of a language model how deep each token ran, and how uncertain it was of the next. */
import { haltingTrace } from "../depth/halting.ts";
import { type Engine, feedsFor, type Program } from "../engine/engine.ts";
import {
  flattenRows,
  full,
  input,
  logSoftmax,
  multiply,
  multiplyDims,
  negate,
  pick,
  reshape,
  simplifyNamed,
  softmax,
  sum,
} from "../graph/index.ts";
import type { LanguageModel } from "../model/language/language.ts";
import type { Weights } from "../model/weights.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import type { TokenDepth } from "./depth-analysis.ts";

/** A language model to look into. */
export interface ReadableLanguage {
  readonly model: LanguageModel;
  readonly weights: Weights;
}

const ROWS = 16;

/** The tokens of each text, cut to the model's length; they have an entropy, but no cosines. */
export async function depthsOfLanguage(
  engine: Engine,
  { model, weights }: ReadableLanguage,
  tokenizer: Tokenizer,
  texts: readonly string[],
  onText?: (done: number) => void,
): Promise<TokenDepth[][]> {
  const program = await compiled(engine, { model, weights });
  const lines = texts.map((text) => tokenizer.encode(text).slice(0, model.options.length));
  const found: TokenDepth[][] = [];
  try {
    for (let from = 0; from < lines.length; from += ROWS) {
      found.push(...(await read(program, lines.slice(from, from + ROWS), tokenizer)));
      onText?.(found.length);
    }
    return found;
  } finally {
    await program.release();
  }
}

function compiled(engine: Engine, { model, weights }: ReadableLanguage): Promise<Program> {
  const ids = input("ids", ["B", "T"], "int");
  const { hidden, probes } = model.deepened(ids);
  const logits = flattenRows(model.logits(ids)); // [B·T, V]
  const logs = logSoftmax(logits);
  const entropy = negate(sum(multiply(softmax(logits), logs), { axes: [1] }));
  const surprise = negate(pick(logs, reshape(input("next", ["B", "T"], "int"), [multiplyDims("B", "T")])));
  const depth = probes.updates ?? full(model.policy.depth, [hidden.shape[0]!]);
  const halting = haltingTrace(probes, model.policy.depth);
  const outputs = simplifyNamed({
    depths: depth,
    entropies: entropy,
    surprises: surprise,
    ...(halting ? { halting } : {}),
  });
  return engine.compile({ outputs, weights });
}

/** Shorter lines are filled up behind: a causal model does not see what follows. */
async function read(program: Program, lines: readonly Int32Array[], tokenizer: Tokenizer): Promise<TokenDepth[][]> {
  const length = Math.max(1, ...lines.map((line) => line.length));
  const data = new Int32Array(lines.length * length);
  const next = new Int32Array(data.length);
  for (const [row, line] of lines.entries()) {
    data.set(line, row * length);
    next.set(line.subarray(1), row * length);
  }
  const shape = [lines.length, length];
  const found = await program.run(feedsFor(program, { ids: { data, shape }, next: { data: next, shape } }));
  const { depths, entropies, surprises, halting } = found;
  const cap = halting?.shape[1] ?? 0;
  return lines.map((line, row) =>
    Array.from(line, (id, i) => {
      const at = row * length + i;
      const depth = depths!.data[at]!;
      return {
        piece: tokenizer.pieceOf(id),
        depth,
        entropy: entropies!.data[at]!,
        ...(i < line.length - 1 ? { surprise: surprises!.data[at]! } : {}),
        cosines: [],
        halting: halting ? Array.from(halting.data.subarray(at * cap, at * cap + depth)) : [],
      };
    }),
  );
}
