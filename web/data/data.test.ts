import { describe, expect, it } from "vitest";
import type { RunRow } from "../../src/studio/api.ts";
import { changedFrom, fieldsOf, textOf, valueFrom } from "./form.ts";
import { grouped, matches, sorted, telling } from "./table.ts";
import { lengthened, thinned } from "./thinning.ts";

const row = (path: string, settings: Record<string, unknown>, more: Partial<RunRow> = {}) =>
  ({ path, settings, kind: "language", status: "finished", note: "", ...more }) as RunRow;
const best = (value: number) => ({ best: { name: "perplexity", value, step: 1, better: "lower" as const } });
const rows = [
  row("a", { width: 64, share: "cycle" }, best(61)),
  row("b", { width: 128, share: "cycle" }, best(48)),
  row("c", { width: 96 }),
];

describe("the table of runs", () => {
  it("is filtered by settings, by figures and by words", () => {
    const found = (filter: string) => rows.filter((each) => matches(each, filter)).map(({ path }) => path);
    expect(found("width>64")).toEqual(["b", "c"]);
    expect(found("share=cycle best<60")).toEqual(["b"]);
    expect(found("share!=cycle")).toEqual(["c"]);
    expect(found("CYCLE")).toEqual(["a", "b"]);
  });

  it("is sorted by any setting, with those that have none last either way", () => {
    const order = (key: string, down: boolean) =>
      sorted(rows, key, down)
        .map(({ path }) => path)
        .join("");
    expect([order("width", false), order("width", true)]).toEqual(["acb", "bca"]);
    expect([order("best", false), order("best", true)]).toEqual(["bac", "abc"]);
  });

  it("is grouped by a setting, and knows which settings tell", () => {
    expect([...grouped(rows, "share").keys()]).toEqual(["cycle", "none"]);
    expect(telling(rows)).toEqual(["share", "width"]);
    expect(telling(rows.slice(0, 2))).toEqual(["width"]);
  });
});

describe("a series that grows", () => {
  it("takes only what is new", () => {
    expect(lengthened({ x: [1, 2], y: [5, 4] }, { x: [2, 3], y: [9, 3] })).toEqual({ x: [1, 2, 3], y: [5, 4, 3] });
  });

  it("keep their beginning, however long they are lengthened", () => {
    let series = { x: [0], y: [5] } as ReturnType<typeof lengthened>;
    for (let x = 1; x <= 100_000; x += 20) {
      const added = Array.from({ length: 20 }, (_, i) => x + i);
      series = lengthened(series, { x: added, y: added.map((each) => 5 - each / 1e5) });
    }
    expect(series.x.length).toBeLessThanOrEqual(3200);
    const [early, late] = [series.x.filter((x) => x < 25_000), series.x.filter((x) => x > 50_000 && x < 75_000)];
    expect(early.length).toBeGreaterThan(late.length / 2);
  });

  it("stays small and keeps peaks, troughs and its end", () => {
    const x = Array.from({ length: 100_000 }, (_, i) => i);
    const y = x.map((i) => (i === 31_415 ? 100 : i === 27_182 ? -100 : Math.sin(i)));
    const thin = thinned({ x, y }, 1000);
    expect(thin.x.length).toBeLessThanOrEqual(1000);
    expect(thin.x).toEqual(expect.arrayContaining([31_415, 27_182, 99_999]));
    expect(thin.x).toEqual([...thin.x].sort((a, b) => a - b));
  });
});

describe("a form out of a schema", () => {
  const schema = {
    properties: {
      task: { const: "language" },
      width: { type: "integer", minimum: 1, default: 192, "x-group": "Model" },
      unique: { anyOf: [{ type: "integer" }, { type: "null" }], default: null, "x-group": "Depth" },
      share: { type: "string", enum: ["cycle", "sequence"], "x-group": "Depth" },
      cased: { type: "boolean" },
      plan: { anyOf: [{ type: "array" }, { type: "null" }] },
    },
  };
  const fields = new Map([...fieldsOf(schema).values()].flat().map((field) => [field.key, field]));

  it("has a control for every setting but the task, under its heading", () => {
    expect([...fieldsOf(schema).keys()]).toEqual(["Model", "Depth", "Other"]);
    expect([...fields.values()].map(({ type }) => type)).toEqual(["integer", "integer", "choice", "yes-no", "json"]);
    expect(fields.get("unique")!.nullable).toBe(true);
  });

  it("reads back what it writes, and null from nothing", () => {
    const back = (key: string, value: unknown) => valueFrom(textOf(value, fields.get(key)!), fields.get(key)!);
    expect([back("width", 12), back("unique", null), back("cased", true), back("plan", [0, 1])]).toEqual([
      12,
      null,
      true,
      [0, 1],
    ]);
    expect(valueFrom("twelve", fields.get("width")!)).toBe("twelve");
  });

  it("sends only what differs", () => {
    expect(changedFrom({ width: 192, unique: null }, { width: 192, unique: 2 })).toEqual({ unique: 2 });
  });
});
