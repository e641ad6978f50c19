import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { Arena, arenaBytes } from "./arena.ts";

const LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 100];
const f = Math.fround;
const random = new RandomStream(1, "kernels");

/** Arena tensors holding copies of `arrays`; the kernels; and a guard value behind each tensor. */
function laidOut(...arrays: Float32Array[]) {
  const arena = new Arena(arenaBytes(arrays.map((array) => array.length + 1)));
  const views = arrays.map((array) => {
    const guarded = arena.float32(array.length + 1);
    guarded.set(array);
    guarded[array.length] = 12345;
    return guarded.subarray(0, array.length);
  });
  const guards = () => views.map((view) => new Float32Array(view.buffer, view.byteOffset + 4 * view.length, 1)[0]);
  return { kernels: arena.kernels, views, guards };
}

function normals(length: number): Float32Array {
  return Float32Array.from({ length }, () => random.normal());
}

/** Sums in the order that kernels/arithmetic.ts states. */
function sumOfSquares(x: Float32Array): number {
  const s = new Float64Array(8);
  const whole = x.length - (x.length % 8);
  for (let i = 0; i < whole; i++) s[i % 8]! += x[i]! ** 2;
  let sum = s[0]! + s[2]! + (s[4]! + s[6]!) + (s[1]! + s[3]! + (s[5]! + s[7]!));
  for (let i = whole; i < x.length; i++) sum += x[i]! ** 2;
  return sum;
}

describe.each(LENGTHS)("a kernel over %i values", (length) => {
  const x = normals(length);
  const y = normals(length);

  it("scales like the plain loop, to the bit", () => {
    const { kernels, views, guards } = laidOut(x);
    kernels.scaleInPlace(views[0]!, 0.3);
    expect(views[0]).toEqual(x.map((value) => f(value * f(0.3))));
    expect(guards()).toEqual([12345]);
  });

  it("clips like the plain loop, to the bit", () => {
    const { kernels, views, guards } = laidOut(x);
    kernels.clipByValue(views[0]!, 0.4);
    expect(views[0]).toEqual(x.map((value) => Math.min(Math.max(value, -f(0.4)), f(0.4))));
    expect(guards()).toEqual([12345]);
  });

  it("accumulates like the plain loop, to the bit", () => {
    const { kernels, views, guards } = laidOut(x, y);
    kernels.addScaled(views[0]!, views[1]!, 0.3);
    expect(views[0]).toEqual(x.map((value, i) => f(value + f(y[i]! * f(0.3)))));
    expect(guards()).toEqual([12345, 12345]);
  });

  it("fills, and nothing more", () => {
    const { kernels, views, guards } = laidOut(x);
    kernels.fill(views[0]!, 2.5);
    expect(views[0]).toEqual(x.map(() => 2.5));
    expect(guards()).toEqual([12345]);
  });

  it("sums squares in double precision, to the bit", () => {
    const { kernels, views } = laidOut(x);
    expect(kernels.sumOfSquares(views[0]!)).toBe(sumOfSquares(x));
  });

  it("finds the first value that is not finite, wherever it is", () => {
    const { kernels, views } = laidOut(x);
    expect(kernels.firstNonFinite(views[0]!)).toBe(-1);
    for (let i = length - 1; i >= 0; i--) {
      views[0]![i] = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY][i % 3]!;
      expect(kernels.firstNonFinite(views[0]!)).toBe(i);
    }
    expect(kernels.allFinite(views[0]!)).toBe(length === 0);
  });
});

describe("kernels", () => {
  it("keep NaN when they clip", () => {
    const { kernels, views } = laidOut(new Float32Array(6).fill(Number.NaN));
    kernels.clipByValue(views[0]!, 1);
    expect(views[0]!.every(Number.isNaN)).toBe(true);
  });

  it("refuse views of unequal length, and views of other memory", () => {
    const { kernels, views } = laidOut(new Float32Array(4), new Float32Array(5));
    expect(() => kernels.addScaled(views[0]!, views[1]!)).toThrow(
      "kernels / addScaled: expected source as long as target (4), got 5 values",
    );
    expect(() => kernels.fill(new Float32Array(4), 0)).toThrow(
      "arena: expected a view of its memory, got Float32Array(4) elsewhere",
    );
  });

  it("are what their sources compile to, byte for byte", async () => {
    const script = fileURLToPath(new URL("../../scripts/kernels.mjs", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [script, "--check"]);
    expect(stdout).toContain("agrees");
  });
});

describe("addRows", () => {
  function setUp(vocabulary: number, ids: number[], columns: number) {
    const lengths = [vocabulary * columns, ids.length, ids.length * columns];
    const arena = new Arena(arenaBytes(lengths));
    const target = arena.float32(lengths[0]!);
    const idView = arena.int32(lengths[1]!);
    const rows = arena.float32(lengths[2]!);
    target.set(normals(target.length));
    idView.set(ids);
    rows.set(normals(rows.length));
    return { kernels: arena.kernels, target, ids: idView, rows };
  }

  it("adds rows of repeated ids in order, like the plain loop, to the bit", () => {
    const sizes = fc.record({
      ids: fc.array(fc.nat(4), { maxLength: 40 }),
      columns: fc.integer({ min: 1, max: 19 }),
      clipped: fc.boolean(),
    });
    fc.assert(
      fc.property(sizes, ({ ids, columns, clipped }) => {
        const tensors = setUp(5, ids, columns);
        const expected = tensors.target.slice();
        const limit = clipped ? f(0.4) : Number.POSITIVE_INFINITY;
        tensors.rows.forEach((value, i) => {
          const at = ids[Math.floor(i / columns)]! * columns + (i % columns);
          expected[at] = f(expected[at]! + Math.min(Math.max(f(value * f(0.7)), -limit), limit));
        });
        tensors.kernels.addRows(tensors.target, tensors.ids, tensors.rows, columns, 0.7, limit);
        expect(tensors.target).toEqual(expected);
      }),
    );
  });

  it("has clearRows as its counterpart, which zeroes the rows of the ids and no others", () => {
    const { kernels, target, ids } = setUp(5, [3, 1, 3], 7);
    const expected = target.map((value, i) => ([1, 3].includes(Math.floor(i / 7)) ? 0 : value));
    kernels.clearRows(target, ids, 7);
    expect(target).toEqual(expected);
  });

  it.each([-1, 5, 2 ** 31 - 1, -(2 ** 31)])("refuses id %i without touching memory", (bad) => {
    const { kernels, target, ids, rows } = setUp(5, [0, 1, bad], 3);
    const before = target.slice();
    const complaint = `expected ids from 0 to 4, got ${bad} at index 2`;
    expect(() => kernels.addRows(target, ids, rows, 3)).toThrow(`kernels / addRows: ${complaint}`);
    expect(() => kernels.clearRows(target, ids, 3)).toThrow(`kernels / clearRows: ${complaint}`);
    expect(target).toEqual(before);
  });

  it("refuses shapes that do not fit together", () => {
    const { kernels, target, ids, rows } = setUp(5, [0, 1], 3);
    expect(() => kernels.addRows(target, ids, rows, 4)).toThrow("expected a target of whole rows of 4, got 15 values");
    expect(() => kernels.addRows(target, ids, rows.subarray(1), 3)).toThrow("expected 2 rows of 3, got 5 values");
  });
});
