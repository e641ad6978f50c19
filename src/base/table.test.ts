import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fittedTable, formatNumber, table } from "./table.ts";

describe("tables", () => {
  it("align numbers to the right and text to the left", () => {
    const rows = [
      { split: "train", tokens: 2982265 },
      { split: "valid", tokens: 314913 },
    ];
    expect(table(rows)).toBe("split     tokens\ntrain  2,982,265\nvalid    314,913");
  });

  it("take headings and show missing cells as a dash", () => {
    expect(table([{ a: "x" }], [{ key: "a", title: "name" }, { key: "b" }])).toBe("name  b\nx     –");
  });

  it("have only headings when there are no rows", () => {
    expect(table([], ["a", "b"])).toBe("a  b");
  });

  it("round to the digits asked for", () => {
    expect(formatNumber(1.23456, 2)).toBe("1.23");
    const tie = fc
      .tuple(fc.integer({ min: -1e6, max: 1e6 }), fc.nat(6))
      .map(([n, places]) => (2 * n + 1) / 2 / 10 ** places);
    const number = fc.oneof(fc.double(), fc.double({ min: -1e7, max: 1e7 }), fc.integer(), tie);
    fc.assert(
      fc.property(number, fc.nat(4), (value, digits) => {
        expect(formatNumber(value, digits)).toBe(value.toLocaleString("en-US", { maximumFractionDigits: digits }));
      }),
      { numRuns: 2000 },
    );
  });
});

describe("a table that has to fit", () => {
  const rows = [
    { run: "runs/one", task: "language books", layers: "6 of 2, cycle", step: "100 / 100", size: "1.5 MB" },
  ];

  it.each([120, 60, 40, 20])("fits %i columns", (width) => {
    const lines = fittedTable(rows, width, ["size", "task", "step"]).split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    expect(lines[1]).toContain("runs/one");
  });

  it("loses what matters least first", () => {
    expect(fittedTable(rows, 55, ["size", "task"])).not.toContain("size");
    expect(fittedTable(rows, 55, ["size", "task"])).toContain("layers");
  });
});
