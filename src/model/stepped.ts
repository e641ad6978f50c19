/** Halting that saves time, ready to run: one program whose depths compute only the tokens that still run. */
import { reject } from "../base/errors.ts";
import type { Engine, Feed, Program } from "../engine/engine.ts";
import { input, simplify, type Tensor } from "../graph/index.ts";
import type { Albert } from "./albert.ts";

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

type Weights = ReadonlyMap<Tensor, Float32Array>;
type Batch = 1 | "B";

/** An ALBERT whose tokens halt. One text alone needs no order of rows by text: it has a program of its own. */
export class SteppedAlbert {
  readonly model: Albert;
  readonly #compile: (batch: Batch) => Promise<Program>;
  readonly #programs = new Map<Batch, Promise<Program>>();

  static async create(engine: Engine, model: Albert, weights: Weights): Promise<SteppedAlbert> {
    const outputs = { 1: outputsOf(model, 1), B: outputsOf(model, "B") };
    return new SteppedAlbert(model, (batch) => engine.compile({ outputs: outputs[batch], weights }));
  }

  private constructor(model: Albert, compile: (batch: Batch) => Promise<Program>) {
    this.model = model;
    this.#compile = compile;
  }

  #program(batch: Batch): Promise<Program> {
    const program = this.#programs.get(batch) ?? this.#compile(batch);
    this.#programs.set(batch, program);
    return program;
  }

  async encode(texts: TextBatch): Promise<SteppedResult> {
    checkTexts(texts, this.model);
    const program = await this.#program(texts.batch === 1 ? 1 : "B");
    const found = await program.run(feedsOf(texts, this.model.policy.depth));
    const copy = (name: string) => (found[name]!.data as Float32Array).slice();
    return {
      sequence: copy("sequence"),
      ...(found.pooled ? { pooled: copy("pooled") } : {}),
      updates: copy("updates"),
      remainders: copy("remainders"),
      halting: copy("halting"),
      iterations: (found.ran!.data as Float32Array).reduce((most, each) => Math.max(most, each), 0),
    };
  }

  /** Gives the programs' memory back. */
  async release(): Promise<void> {
    for (const program of this.#programs.values()) await (await program).release();
    this.#programs.clear();
  }
}

function outputsOf(model: Albert, batch: Batch): Record<string, Tensor> {
  const numbers = (name: string) => input(name, [batch, "T"], "int");
  const texts = { ids: numbers("ids"), mask: numbers("mask"), types: numbers("types"), caps: numbers("caps") };
  const { sequence, pooled, probes } = model.encodeRunning(texts);
  const { updates, remainders, halting, ran } = probes;
  const outputs = { sequence, pooled, updates, remainders, halting, ran };
  const wanted = Object.entries(outputs).flatMap(([name, tensor]) => (tensor ? [[name, tensor] as const] : []));
  const simple = simplify(wanted.map(([, tensor]) => tensor));
  return Object.fromEntries(wanted.map(([name], i) => [name, simple[i]!]));
}

function feedsOf({ batch, length, ids, mask, types, caps }: TextBatch, depth: number): Record<string, Feed> {
  const count = batch * length;
  const feed = (data: Int32Array) => ({ data, shape: [batch, length] });
  return {
    ids: feed(ids),
    mask: feed(mask ? Int32Array.from(mask) : new Int32Array(count).fill(1)),
    types: feed(types ?? new Int32Array(count)),
    // Without a cap of its own a token must not be halted even at the last depth, which `haltAtCap` decides about.
    caps: feed(caps ? Int32Array.from(caps) : new Int32Array(count).fill(depth + 1)),
  };
}

function checkTexts({ batch, length, ids, mask, types, caps }: TextBatch, model: Albert): void {
  for (const [name, array] of Object.entries({ ids, mask, types, caps })) {
    if (array && array.length !== batch * length) {
      reject({ who: name, needed: `${batch * length} numbers for [${batch},${length}]`, got: `${array.length}` });
    }
  }
  if (length > model.options.length) {
    reject({ who: "texts", needed: `at most ${model.options.length} tokens`, got: `${length}` });
  }
}
