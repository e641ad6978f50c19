/** Halting that saves time, ready to run: one program whose depths compute only the tokens that still run. */
import { rejectShape } from "../../base/errors.ts";
import { checkOptions, defined } from "../../base/options.ts";
import { type Engine, type Feed, feedsFor } from "../../engine/engine.ts";
import { input, simplifyNamed, type Tensor, type Weights } from "../../graph/index.ts";
import { Programs } from "../programs.ts";
import { boundWeights } from "../state-dict.ts";
import type { Albert } from "./albert.ts";
import { encodeRunning, haltingPolicyOf } from "./running.ts";

/** Texts as numbers: ids, and where needed mask (1 for tokens, 0 for padding) and types, [batch, length] each. */
export interface TextBatch {
  readonly batch: number;
  readonly length: number;
  readonly ids: Int32Array;
  readonly mask?: ArrayLike<number> | undefined;
  readonly types?: Int32Array | undefined;
  /** The deepest depth of each token, where it is less than the model's. */
  readonly caps?: ArrayLike<number> | undefined;
}

/** What was computed: states [B, T, C], pooled [B, C] where the model has a pooler, counters [B, T]. */
export interface SteppedResult {
  readonly sequence: Float32Array;
  readonly pooled?: Float32Array;
  readonly updates: Float32Array;
  readonly remainders: Float32Array;
  readonly halting: Float32Array;
  /** Depths that ran for at least one token. */
  readonly iterations: number;
}

/** What texts have that costs time: each kind has a program of its own, compiled when it is first met. */
interface Kind {
  /** One text alone needs no order of rows by text. */
  readonly batch: 1 | "B";
  readonly padded: boolean;
  readonly capped: boolean;
}

/** An ALBERT whose tokens halt. */
export class SteppedAlbert {
  readonly model: Albert;
  readonly #programs: Programs<Kind>;

  static async create(engine: Engine, model: Albert, weights: Weights): Promise<SteppedAlbert> {
    haltingPolicyOf(model); // refuses other models
    const bound = boundWeights(model, weights);
    const programs = new Programs((kind: Kind) => engine.compile({ outputs: outputsOf(model, kind), weights: bound }));
    return new SteppedAlbert(model, programs);
  }

  private constructor(model: Albert, programs: Programs<Kind>) {
    this.model = model;
    this.#programs = programs;
  }

  async encode(texts: TextBatch): Promise<SteppedResult> {
    checkTexts(texts, this.model);
    const kind = kindOf(texts);
    const program = await this.#programs.get(kind);
    const found = await program.run(feedsFor(program, feedsOf(texts, kind)));
    const numbers = (name: string) => found[name]!.data as Float32Array;
    return {
      sequence: numbers("sequence"),
      ...(found.pooled ? { pooled: numbers("pooled") } : {}),
      updates: numbers("updates"),
      remainders: numbers("remainders"),
      halting: numbers("halting"),
      iterations: numbers("ran").reduce((most, each) => Math.max(most, each), 0),
    };
  }

  /** Gives the programs' memory back. */
  async release(): Promise<void> {
    await this.#programs.release();
  }
}

function kindOf({ batch, mask, caps }: TextBatch): Kind {
  const padded = mask !== undefined && Array.from(mask).includes(0);
  return { batch: batch === 1 ? 1 : "B", padded, capped: caps !== undefined };
}

function outputsOf(model: Albert, { batch, padded, capped }: Kind): Record<string, Tensor> {
  const numbers = (name: string) => input(name, [batch, "T"], "int");
  const { sequence, pooled, probes } = encodeRunning(model, {
    ids: numbers("ids"),
    types: numbers("types"),
    mask: padded ? numbers("mask") : undefined,
    caps: capped ? numbers("caps") : undefined,
  });
  const { updates, remainders, halting, ran } = probes;
  const outputs = { sequence, pooled, updates, remainders, halting, ran };
  return simplifyNamed(defined(outputs) as Record<string, Tensor>);
}

function feedsOf({ batch, length, ids, mask, types, caps }: TextBatch, { padded }: Kind): Record<string, Feed> {
  const feed = (data: Int32Array) => ({ data, shape: [batch, length] });
  return {
    ids: feed(ids),
    types: feed(types ?? new Int32Array(batch * length)),
    ...(padded && mask ? { mask: feed(Int32Array.from(mask)) } : {}),
    ...(caps ? { caps: feed(Int32Array.from(caps)) } : {}),
  };
}

function checkTexts(texts: TextBatch, model: Albert): void {
  checkOptions("texts", texts, ["batch", "length", "ids", "mask", "types", "caps"]);
  const { batch, length, ids, mask, types, caps } = texts;
  for (const [name, array] of Object.entries({ ids, mask, types, caps })) {
    if (array && array.length !== batch * length) {
      rejectShape({ who: name, needed: `${batch * length} numbers for [${batch},${length}]`, got: `${array.length}` });
    }
  }
  if (length > model.options.length) {
    rejectShape({ who: "texts", needed: `at most ${model.options.length} tokens`, got: `${length}` });
  }
}
