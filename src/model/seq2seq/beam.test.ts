import { describe, expect, it } from "vitest";
import { Beam } from "./beam.ts";

describe("a beam", () => {
  const logs = (...rows: number[][]) => Float32Array.from(rows.flat(), Math.log);

  it("finds what greedy search misses", () => {
    // Pieces: 0, 1, end. Greedy takes 0 (0.5), then nothing good follows; 1 (0.4) is followed by a sure end.
    const search = (size: number) => {
      const beam = new Beam(size, 0, 2, 3);
      beam.advance(logs([0.5, 0.4, 0.1], [0, 0, 0]), 3);
      if (size === 1) beam.advance(logs([0.3, 0.3, 0.4]), 3);
      else beam.advance(logs([0.3, 0.3, 0.4], [0.01, 0.01, 0.98]), 3);
      return beam.best;
    };
    expect(search(1)).toEqual([0]);
    expect(search(2)).toEqual([1]);
  });

  it("weighs length: without a penalty the shorter wins, with one the longer", () => {
    const search = (alpha: number) => {
      const beam = new Beam(2, alpha, 2, 4);
      beam.advance(logs([0.6, 0, 0.4], [0, 0, 0]), 3);
      beam.advance(logs([0.3, 0.1, 0.6], [0, 0, 0]), 3);
      return beam.best;
    };
    expect(search(0)).toEqual([]);
    expect(search(1)).toEqual([0]);
  });

  it("ends at the longest length with what it has", () => {
    const beam = new Beam(1, 0.6, 2, 2);
    beam.advance(logs([0.9, 0.05, 0.05]), 3);
    beam.advance(logs([0.9, 0.05, 0.05]), 3);
    expect([beam.done, beam.best]).toEqual([true, [0, 0]]);
  });
});
