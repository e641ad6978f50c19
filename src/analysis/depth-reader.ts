/** Runs an ALBERT over texts of any length and reads how deep each token ran, and how its state turned on the way. */
import { haltingTrace } from "../depth/halting.ts";
import { type Engine, feedsFor, type Program } from "../engine/engine.ts";
import { input, simplifyNamed, type Tensor } from "../graph/index.ts";
import type { Albert } from "../model/albert/albert.ts";
import { depthTensor, encodeByDepth, similarityTrace } from "../model/albert/depth.ts";
import type { Weights } from "../model/weights.ts";

/** A text as the model takes it. */
export interface TextIds {
  readonly ids: ArrayLike<number>;
  /** Segments; none: all 0. */
  readonly types?: ArrayLike<number>;
}

/** What was read of the tokens of one text. */
export interface TokenDepths {
  /** Iterations of each token. */
  readonly depths: Float32Array;
  /** Of each token, the cosine between its states before and after every iteration that it ran. */
  readonly cosines: readonly (readonly number[])[];
  /** Of each token, its halting probability at every iteration that it ran. */
  readonly halting: readonly (readonly number[])[];
}

/** A model to look into. */
export interface ReadableAlbert {
  readonly model: Albert;
  readonly weights: Weights;
}

const ROWS = 16;

/** A compiled model that tells how deep tokens run. */
export class DepthReader {
  readonly cap: number;
  readonly #program: Program;

  static async create(engine: Engine, { model, weights }: ReadableAlbert): Promise<DepthReader> {
    const one = (name: string) => input(name, ["B", "T"], "int");
    const encoded = encodeByDepth(model, { ids: one("ids"), mask: one("mask"), types: one("types") });
    const halting = haltingTrace(encoded.probes, model.policy.depth);
    const outputs: Record<string, Tensor> = {
      ...(halting ? { halting } : {}),
      depths: depthTensor(encoded.probes, model, encoded.sequence.shape[0]!),
      // A fixed model keeps no states; its last one makes the inputs count.
      ...(encoded.states.length > 1 ? { cosines: similarityTrace(encoded.states) } : { sequence: encoded.sequence }),
    };
    return new DepthReader(await engine.compile({ outputs: simplifyNamed(outputs), weights }), model.policy.depth);
  }

  private constructor(program: Program, cap: number) {
    [this.#program, this.cap] = [program, cap];
  }

  /** Reads all texts, in batches of similar length, and gives them in their order. */
  async read(texts: readonly TextIds[], onText?: (done: number) => void): Promise<TokenDepths[]> {
    const order = texts.map((_, i) => i).sort((a, b) => texts[a]!.ids.length - texts[b]!.ids.length);
    const found: TokenDepths[] = new Array(texts.length);
    for (let from = 0; from < order.length; from += ROWS) {
      const places = order.slice(from, from + ROWS);
      const read = await this.#batch(places.map((place) => texts[place]!));
      for (const [row, place] of places.entries()) found[place] = read[row]!;
      onText?.(from + places.length);
    }
    return found;
  }

  async #batch(texts: readonly TextIds[]): Promise<TokenDepths[]> {
    const length = Math.max(...texts.map(({ ids }) => ids.length));
    const laid = (of: (text: TextIds) => ArrayLike<number>) => {
      const data = new Int32Array(texts.length * length);
      for (const [row, text] of texts.entries()) data.set(of(text), row * length);
      return { data, shape: [texts.length, length] };
    };
    const { depths, cosines, halting } = await this.#program.run(
      feedsFor(this.#program, {
        ids: laid(({ ids }) => ids),
        mask: laid(({ ids }) => Array.from(ids, () => 1)),
        types: laid(({ ids, types }) => types ?? new Int32Array(ids.length)),
      }),
    );
    return texts.map(({ ids }, row) => {
      const own = (depths!.data as Float32Array).slice(row * length, row * length + ids.length);
      const executed = (column: typeof cosines) =>
        Array.from(ids, (_, token) => {
          const start = (row * length + token) * this.cap;
          return column ? Array.from(column.data.subarray(start, start + own[token]!)) : [];
        });
      return { depths: own, cosines: executed(cosines), halting: executed(halting) };
    });
  }

  async release(): Promise<void> {
    await this.#program.release();
  }
}
