/** Typed calls of the SIMD kernels: views of the arena are checked, constants worked out in double precision, then one pass runs in WebAssembly. */
import { rejectShape as reject } from "../base/errors.ts";
import type { StreamKey } from "../base/random.ts";
import { compileWasm, Wasm, type WasmMemory, type WasmModule } from "../base/wasm.ts";
import { KERNELS_HEX } from "./kernels.wasm.ts";
import { type AdamSettings, adamConstants, type LambSettings, type SgdSettings } from "./updates.ts";

/** Bytes at the start of the memory that kernels use for themselves. */
export const SCRATCH_BYTES = 128;

/** A view of an arena. */
export type ArenaView = Float32Array | Int32Array | Uint8Array;

/** The memory kernels work on: an arena. */
export interface KernelMemory {
  readonly memory: WasmMemory;
  /** Byte offset of a view of this memory; throws for any other. */
  address(view: ArenaView): number;
}

type Pass = (...numbers: number[]) => void;
type Measure = (...numbers: number[]) => number;
type Passes = "scaleInPlace" | "clipByValue" | "addScaled" | "fill" | "clearRows" | "addRows" | "adam" | "sgd";
type Draws = "dropoutMask" | "uniform" | "gumbel" | "normal";
type Exports = Record<Passes | Draws, Pass> &
  Record<"sumOfSquares" | "firstNonFinite" | "firstBadId" | "lamb", Measure>;

let compiled: WasmModule | undefined;

const TWO_32 = 2 ** 32;
const WORDS_PER_BLOCK = 4;

/** The kernels over one arena. All are deterministic: equal inputs give equal bits on every machine. */
export class Kernels {
  readonly #space: KernelMemory;
  readonly #wasm: Exports;

  constructor(space: KernelMemory) {
    this.#space = space;
    compiled ??= compileWasm(KERNELS_HEX);
    this.#wasm = new Wasm.Instance<Exports>(compiled, { env: { memory: space.memory } }).exports;
  }

  /** Adam and AdamW: one pass over weight, gradient and both moments. */
  adam(weight: Float32Array, gradient: Float32Array, m: Float32Array, v: Float32Array, settings: AdamSettings): void {
    const c = adamConstants(settings);
    const l2 = settings.decoupled ? 0 : c.weightDecay;
    const decay = settings.decoupled ? settings.rate * c.weightDecay : 0;
    const at = this.#places("adam", { weight, gradient, m, v });
    const betas = [settings.beta1, 1 - settings.beta1, settings.beta2, 1 - settings.beta2];
    this.#wasm.adam(
      ...at,
      c.gradientScale,
      l2,
      ...betas,
      c.root,
      settings.epsilon,
      settings.rate * c.correction,
      decay,
    );
  }

  /** LAMB; returns the trust ratio it used. */
  lamb(weight: Float32Array, gradient: Float32Array, m: Float32Array, v: Float32Array, settings: LambSettings): number {
    if (!(settings.epsilon > 0))
      reject({ who: "kernels / lamb", needed: "a positive epsilon", got: `${settings.epsilon}` });
    const c = adamConstants(settings);
    const at = this.#places("lamb", { weight, gradient, m, v });
    const betas = [settings.beta1, 1 - settings.beta1, settings.beta2, 1 - settings.beta2];
    const adapt = settings.adapt ? 1 : 0;
    return this.#wasm.lamb(
      ...at,
      c.gradientScale,
      ...betas,
      c.correction,
      c.root,
      settings.epsilon,
      c.weightDecay,
      settings.rate,
      adapt,
    );
  }

  /** Stochastic gradient descent with momentum. */
  sgd(weight: Float32Array, gradient: Float32Array, velocity: Float32Array, settings: SgdSettings): void {
    const { rate, momentum, weightDecay = 0, gradientScale = 1, nesterov = false } = settings;
    const at = this.#places("sgd", { weight, gradient, velocity });
    this.#wasm.sgd(...at, gradientScale, weightDecay, momentum, rate, nesterov ? 1 : 0);
  }

  /** Sum of squares in double precision: add those of all gradients, in one order, for the global norm. */
  sumOfSquares(x: Float32Array): number {
    return this.#wasm.sumOfSquares(...this.#places("sumOfSquares", { x }));
  }

  /** x *= scale. */
  scaleInPlace(x: Float32Array, scale: number): void {
    this.#wasm.scaleInPlace(...this.#places("scaleInPlace", { x }), scale);
  }

  /** x = min(max(x, -limit), limit); NaN stays NaN. */
  clipByValue(x: Float32Array, limit: number): void {
    if (!(limit >= 0)) reject({ who: "kernels / clipByValue", needed: "a limit of at least 0", got: `${limit}` });
    this.#wasm.clipByValue(...this.#places("clipByValue", { x }), limit);
  }

  /** target += source * scale. */
  addScaled(target: Float32Array, source: Float32Array, scale = 1): void {
    this.#wasm.addScaled(...this.#places("addScaled", { target, source }), scale);
  }

  fill(x: Float32Array, value: number): void {
    this.#wasm.fill(...this.#places("fill", { x }), value);
  }

  /** Index of the first value that is infinite or NaN, or -1. */
  firstNonFinite(x: Float32Array): number {
    return this.#wasm.firstNonFinite(...this.#places("firstNonFinite", { x }));
  }

  allFinite(x: Float32Array): boolean {
    return this.firstNonFinite(x) < 0;
  }

  /**
   * target[ids[n]] += rows[n] * scale for n = 0, 1, …: target is [V, C], rows [N, C]. With `clip`, each value of rows * scale is first
   * brought into [-clip, clip]. A bad id throws before anything is written.
   */
  addRows(
    target: Float32Array,
    ids: Int32Array,
    rows: Float32Array,
    columns: number,
    scale = 1,
    clip = Infinity,
  ): void {
    const who = "kernels / addRows";
    const [to, idsAt] = this.#rowPlaces(who, target, ids, columns);
    if (rows.length !== ids.length * columns)
      reject({ who, needed: `${ids.length} rows of ${columns}`, got: `${rows.length} values` });
    if (!(clip >= 0)) reject({ who, needed: "a clip of at least 0", got: `${clip}` });
    this.#wasm.addRows(to, idsAt, this.#space.address(rows), ids.length, columns, scale, clip);
  }

  /** Zeroes rows `ids` of target [V, C]. A bad id throws before anything is written. */
  clearRows(target: Float32Array, ids: Int32Array, columns: number): void {
    const [to, idsAt] = this.#rowPlaces("kernels / clearRows", target, ids, columns);
    this.#wasm.clearRows(to, idsAt, ids.length, columns);
  }

  /** Addresses of a table and of ids that all stand for rows of it. */
  #rowPlaces(who: string, target: Float32Array, ids: Int32Array, columns: number): [number, number] {
    if (!(columns > 0) || target.length % columns !== 0)
      reject({ who, needed: `a target of whole rows of ${columns}`, got: `${target.length} values` });
    const places: [number, number] = [this.#space.address(target), this.#space.address(ids)];
    const height = target.length / columns;
    const bad = this.#wasm.firstBadId(places[1], ids.length, height);
    if (bad >= 0) reject({ who, needed: `ids from 0 to ${height - 1}`, got: `${ids[bad]} at index ${bad}` });
    return places;
  }

  /**
   * Dropout as a factor: 0, or 1 / keep. The probability is rounded to a multiple of 2^-16 (at least one), and the factor is the inverse of the
   * rounded one, so that the mean is 1. Takes `maskWords(out.length)` words from block `block` on.
   */
  dropoutMask(out: Float32Array, key: StreamKey, block: number, keep: number): void {
    if (!(keep > 0 && keep <= 1))
      reject({ who: "kernels / dropoutMask", needed: "a keep probability in (0, 1]", got: `${keep}` });
    const threshold = Math.max(1, Math.round(keep * 65_536));
    this.#draw("dropoutMask", out, key, block, 2, [threshold - 1, 65_536 / threshold]);
  }

  /** Uniform in [0, 1): the upper 24 bits of a word per value. */
  uniform(out: Float32Array, key: StreamKey, block: number): void {
    this.#draw("uniform", out, key, block, 1, [8, 0, 2 ** -24]);
  }

  /** Uniform in (0, 1): the middles of 2^23 equal intervals. */
  openUniform(out: Float32Array, key: StreamKey, block: number): void {
    this.#draw("uniform", out, key, block, 1, [9, 0.5, 2 ** -23]);
  }

  /** Standard Gumbel numbers -log(-log u), u = (word + 1/2) / 2^32. */
  gumbel(out: Float32Array, key: StreamKey, block: number): void {
    this.#draw("gumbel", out, key, block, 1, []);
  }

  /** Standard normal numbers (Box–Muller); takes `normalWords(out.length)` words. */
  normal(out: Float32Array, key: StreamKey, block: number): void {
    this.#draw("normal", out, key, block, 1, []);
  }

  /** Addresses of views of equal length, then that length. */
  #places(kernel: string, views: Record<string, Float32Array>): number[] {
    const [[first, lead] = ["", new Float32Array()], ...others] = Object.entries(views);
    for (const [name, view] of others)
      if (view.length !== lead.length)
        reject({
          who: `kernels / ${kernel}`,
          needed: `${name} as long as ${first} (${lead.length})`,
          got: `${view.length} values`,
        });
    return [...Object.values(views).map((view) => this.#space.address(view)), lead.length];
  }

  /** Runs a random kernel, in pieces within which the upper half of the block index is constant. */
  #draw(
    kernel: Draws,
    out: Float32Array,
    [key0, key1]: StreamKey,
    block: number,
    perWord: number,
    constants: number[],
  ): void {
    if (!Number.isSafeInteger(block) || block < 0)
      reject({ who: `kernels / ${kernel}`, needed: "a block index", got: `${block}` });
    const start = this.#space.address(out);
    for (let done = 0; done < out.length; ) {
      const low = block % TWO_32;
      const count = Math.min(out.length - done, (TWO_32 - low) * WORDS_PER_BLOCK * perWord);
      this.#wasm[kernel](start + 4 * done, count, key0, key1, low, Math.floor(block / TWO_32), ...constants);
      done += count;
      block += TWO_32 - low;
    }
  }
}
