import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { fitChosen, fitLinear, type LinearData, scoresOf } from "./linear-fit.ts";

/** Rows of correlated columns at different scales; the first two decide, with noise. */
function made(count: number, seed: number, noise = 0.3): { vectors: number[][]; wanted: number[] } {
  const random = new RandomStream(seed, "rows");
  const vectors = Array.from({ length: count }, () => {
    const common = random.normal();
    return [
      random.normal() + common,
      10 * random.normal() + 3,
      common,
      ...Array.from({ length: 9 }, () => random.normal()),
    ];
  });
  const wanted = vectors.map(([a, b]) => a! + b! / 10 - 0.3 + noise * random.normal());
  return { vectors, wanted };
}

const share = (of: readonly boolean[]) => of.filter(Boolean).length / of.length;
const oneHot = (wanted: readonly number[]) => wanted.map((each) => (each > 0 ? [0, 1] : [1, 0]));

describe("linear fits", () => {
  it("find the weights of least squares where nothing is penalised", () => {
    const { vectors, wanted } = made(400, 1, 0);
    const map = fitLinear({ vectors, targets: wanted.map((each) => [each]), kind: "regression" }, 0);
    expect(map.weights[0]![0]).toBeCloseTo(1, 3);
    expect(map.weights[0]![1]).toBeCloseTo(0.1, 4);
    expect(map.biases[0]).toBeCloseTo(-0.3, 3);
  });

  it("end where the slope of loss and penalty is 0", () => {
    const { vectors, wanted } = made(200, 2);
    const [targets, decay] = [oneHot(wanted), 0.1];
    const { weights, biases } = fitLinear({ vectors, targets, kind: "single" }, decay);
    const column = vectors.map(([a]) => a!);
    const mean = column.reduce((a, b) => a + b, 0) / column.length;
    const deviation = Math.sqrt(column.reduce((sum, each) => sum + (each - mean) ** 2, 0) / column.length);
    const errors = vectors.map((vector, i) => {
      const [a, b] = scoresOf({ weights, biases }, vector) as [number, number];
      return 1 / (1 + Math.exp(a - b)) - targets[i]![1]!;
    });
    const slope = errors.reduce((sum, error, i) => sum + (error * (column[i]! - mean)) / deviation, 0) / errors.length;
    expect(slope + decay * weights[1]![0]! * deviation).toBeCloseTo(0, 3);
    expect(errors.reduce((a, b) => a + b, 0) / errors.length).toBeCloseTo(0, 3);
  });

  it("choose a stronger penalty where there are few rows and much noise", () => {
    const fitOf = (count: number, noise: number) => {
      const { vectors, wanted } = made(count, 3, noise);
      return fitChosen({ vectors, targets: oneHot(wanted), kind: "single" });
    };
    const [few, many] = [fitOf(60, 2), fitOf(2000, 0.3)];
    expect(few.decay).toBeGreaterThan(many.decay);
    const others = made(1000, 4, 0.3);
    const right = others.vectors.map((vector, i) => {
      const [a, b] = scoresOf(many.map, vector) as [number, number];
      return b > a === others.wanted[i]! > 0;
    });
    expect(share(right)).toBeGreaterThan(0.9);
    expect(many.loss).toBeLessThan(few.loss);
  });

  it("refuse to choose a penalty by a single row", () => {
    const single = { vectors: [[1, 2]], targets: [[1, 0]], kind: "single" } as const;
    expect(() => fitChosen(single)).toThrow(
      "linear fit: expected at least two rows, of which some can be left out, got 1",
    );
  });

  it("leave rows of one text out together", () => {
    const { vectors, wanted } = made(40, 6, 2);
    const twice = <T>(rows: readonly T[]) => rows.flatMap((row) => [row, row]);
    const single = { vectors, targets: oneHot(wanted), kind: "single" } as const;
    const doubled = { ...single, vectors: twice(vectors), targets: twice(oneHot(wanted)) };
    expect(fitChosen({ ...doubled, together: 2 }).loss).toBeCloseTo(fitChosen(single).loss, 6);
    // A row whose copy is learnt from says nothing about others.
    expect(fitChosen({ ...doubled, together: 1 }).loss).not.toBeCloseTo(fitChosen(single).loss, 2);
    expect(() => fitChosen({ ...doubled, vectors: vectors.slice(0, 2), together: 2 })).toThrow("at least two rows");
  });

  it("guess several classes each by itself, and take columns that never change", () => {
    const { vectors, wanted } = made(300, 5);
    const constant: LinearData = {
      vectors: vectors.map((vector) => [...vector, 7]),
      targets: wanted.map((each, i) => [Number(each > 0), Number(vectors[i]![3]! > 0.5)]),
      kind: "multiple",
    };
    const { map } = fitChosen(constant);
    const right = constant.vectors.map((vector, i) =>
      scoresOf(map, vector).every((score, k) => Number(score > 0) === constant.targets[i]![k]),
    );
    expect(share(right)).toBeGreaterThan(0.85);
    expect(map.weights.map((own) => own.at(-1))).toEqual([0, 0]);
  });
});
