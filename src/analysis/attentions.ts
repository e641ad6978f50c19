/** Where the tokens of a text look: attention probabilities of an ALBERT at each iteration, for each head. */
import type { Engine } from "../engine/engine.ts";
import { concat, input, simplifyNamed } from "../graph/index.ts";
import { depthTensor, encodeWithAttentions } from "../model/albert/depth.ts";
import { type Framing, framedText } from "./depth-analysis.ts";
import type { ReadableAlbert } from "./depth-reader.ts";

/** What each token of a text looked at. */
export interface Attentions {
  /** [CLS] and [SEP] among them. */
  readonly pieces: readonly string[];
  /** Iterations of each token: in those after it halted, its row has no effect. */
  readonly depths: Float32Array;
  /** [iterations, heads, T, T]; iterations that at least one token ran. */
  readonly shape: readonly [iterations: number, heads: number, tokens: number, seen: number];
  /** Every row of T adds up to 1. */
  readonly values: Float32Array;
}

/** The attention probabilities of a text, which is cut to the model's length. */
export async function attentionsOf(
  engine: Engine,
  { model, weights }: ReadableAlbert,
  text: string,
  framing: Framing,
): Promise<Attentions> {
  const { ids, pieces } = framedText(text, framing);
  const shape = [1, ids.length];
  const { attentions, probes } = encodeWithAttentions(model, { ids: input("ids", shape, "int") });
  const depths = depthTensor(probes, model, ids.length);
  const program = await engine.compile({ outputs: simplifyNamed({ all: concat(attentions, 0), depths }), weights });
  try {
    const found = await program.run({ ids: { data: ids, shape } });
    return cutToRun(pieces, found.all!.data as Float32Array, found.depths!.data as Float32Array, model.options.heads);
  } finally {
    await program.release();
  }
}

/** Without the iterations that no token ran. */
function cutToRun(pieces: readonly string[], all: Float32Array, depths: Float32Array, heads: number): Attentions {
  const [iterations, length] = [Math.max(...depths), pieces.length];
  const values = all.slice(0, iterations * heads * length * length);
  return { pieces, depths: depths.slice(), shape: [iterations, heads, length, length], values };
}
