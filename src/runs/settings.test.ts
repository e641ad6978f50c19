import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { fromJSONSchema } from "zod";
import { choice, fraction, group, list, optional, real, shape, text, textLike, whole } from "./fields.ts";
import { defineSettings, yamlText } from "./settings.ts";

const size = shape({ rows: whole(1, ""), columns: whole(2, "") }, "a size", "rows x columns, such as 1x2", {
  read: (given) => {
    const [rows, columns] = given.split("x").map(Number);
    return { rows, columns };
  },
  show: ({ rows, columns }) => `${rows}x${columns}`,
});
const schema = defineSettings(
  "sample",
  {
    ...group("Model", {
      width: whole(192, "width of the hidden state"),
      dropout: real(0.1, "what is dropped", { from: 0, below: 1 }),
      share: fraction(1, "a part"),
      mode: choice(["fast", "slow"], "fast", "how"),
      cutoffs: list(whole(0, "", 0), [250, 2500], "clusters", "a list of whole numbers"),
      size,
    }),
    name: text("mine", "a name"),
    plan: optional(textLike("0,1", "an order", { pattern: /^\d(,\d)*$/, needed: "numbers with commas between" })),
    rate: optional(real(0.002, "learning rate", { above: 0 })),
    clip: optional(real(1, "largest gradient norm"), 1),
    steps: optional(whole(1000, "updates")),
    epochs: optional(real(1, "passes"), 8),
    minutes: optional(real(1, "minutes")),
  },
  {
    command: "train",
    presets: { tiny: { width: 32, steps: 60 }, large: { width: 512 } },
    derive: ({ rate, mode }) => ({ rate: rate ?? (mode === "fast" ? 0.1 : 0.01) }),
    elsewhere: { halt: "task other" },
  },
);

describe("settings", () => {
  it.each([
    [{ widht: 3 }, "f: expected a known key, got widht; did you mean width?"],
    [{ unheardOf: 3 }, "f: expected a known key, got unheardOf; see layerwise train --help"],
    [{ constructor: 3 }, "f: expected a known key, got constructor; see layerwise train --help"],
    [{ halt: true }, "f: expected settings of task sample, got halt; it is for task other"],
    [{ width: -3 }, "f / width: expected a whole number from 1, got -3"],
    [{ width: 1.5 }, "f / width: expected a whole number from 1, got 1.5"],
    [{ width: null }, "f / width: expected a whole number from 1, got null"],
    [{ dropout: 1 }, "f / dropout: expected a number from 0 to below 1, got 1"],
    [{ dropout: Number.NaN }, "f / dropout: expected a number from 0 to below 1, got NaN"],
    [{ share: 1.1 }, "f / share: expected a number from 0 to 1, got 1.1"],
    [{ rate: 0 }, "f / rate: expected a number above 0, got 0"],
    [{ mode: "fats" }, 'f / mode: expected one of fast, slow, got "fats"'],
    [{ name: "" }, 'f / name: expected a text, got ""'],
    [{ plan: "0;1" }, 'f / plan: expected numbers with commas between, got "0;1"'],
    [{ cutoffs: [1, -1] }, "f / cutoffs / 1: expected a whole number from 0, got -1"],
    [{ size: { rows: 0, columns: 1 } }, "f / size / rows: expected a whole number from 1, got 0"],
    [{ size: "1x2" }, 'f / size: expected rows x columns, such as 1x2, got "1x2"'],
    [{ task: "other" }, 'f / task: expected sample, got "other"'],
  ])("refuse %j", (values, message) => {
    expect(() => schema.check(values, "f")).toThrow(expect.objectContaining({ message, exitCode: 2 }));
  });

  it("are copies of what was given, without what was not", () => {
    const cutoffs = [1, 2];
    const found = schema.check({ task: "sample", cutoffs, width: undefined }, "f");
    expect(found).toEqual({ cutoffs: [1, 2] });
    expect(found.cutoffs).not.toBe(cutoffs);
    schema.resolve([]).cutoffs.push(3);
    expect(schema.resolve([]).cutoffs).toEqual([250, 2500]);
  });

  it("lie in layers, the last on top, and derive what is left", () => {
    const file = { source: "file", values: { width: 64, mode: "slow" } as const };
    const found = schema.resolve([schema.preset("tiny"), file, { source: "flags", values: { clip: null } }]);
    expect(found).toMatchObject({ width: 64, steps: 60, mode: "slow", clip: null, rate: 0.01, name: "mine" });
    expect(schema.resolve([{ source: "flags", values: { rate: 1 } }]).rate).toBe(1);
  });

  it("have one length: a later one replaces an earlier one, two in one place are refused", () => {
    const lengths = ({ steps, epochs, minutes }: typeof schema.defaults) => [steps, epochs, minutes];
    expect(lengths(schema.resolve([]))).toEqual([null, 8, null]);
    const found = schema.resolve([schema.preset("tiny"), { source: "flags", values: { minutes: 2 } }]);
    expect(lengths(found)).toEqual([null, null, 2]);
    const both = { source: "flags", values: { steps: 1, epochs: 2 } };
    expect(() => schema.resolve([both])).toThrow(
      "flags: expected one of steps, epochs and minutes, got steps and epochs; leave one out",
    );
  });

  it("have presets by name, and guess at misspelt ones", () => {
    expect(schema.preset("large")).toEqual({ source: "preset large", values: { width: 512 }, givesWay: true });
    expect(() => schema.preset("tinny")).toThrow("preset: expected one of tiny, large, got tinny; did you mean tiny?");
    expect(() => schema.preset("constructor")).toThrow("preset: expected one of tiny, large");
  });

  it("are read from text as flags have them", () => {
    const read = (key: string, given: string) =>
      schema
        .describe()
        .find((each) => each.key === key)!
        .read(given);
    expect([read("width", "64"), read("width", "x")]).toEqual([64, "x"]);
    expect([read("name", "64"), read("clip", "none")]).toEqual(["64", null]);
    expect([read("cutoffs", "60,240"), read("cutoffs", "60"), read("cutoffs", "none")]).toEqual([[60, 240], [60], []]);
    expect(read("size", "3x4")).toEqual({ rows: 3, columns: 4 });
    const info = schema.describe().find(({ key }) => key === "size")!;
    expect([info.show(info.value), info.group]).toEqual(["1x2", "Model"]);
  });
});

describe("the YAML of settings", () => {
  it("has a line per key, the task first, and no other keys", () => {
    const { width, cutoffs, size } = schema.defaults;
    const extra = { width, cutoffs, size, plan: "0,1", rate: null, other: 3 };
    expect(schema.yaml(extra)).toBe(
      'task: sample\nwidth: 192\ncutoffs: [250, 2500]\nsize: { rows: 1, columns: 2 }\nplan: "0,1"\nrate: null\n',
    );
  });

  it("is read back as it was", () => {
    const value = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.double({ noDefaultInfinity: true, noNaN: true }),
      fc.boolean(),
      fc.constant(null),
    );
    const words = fc.constantFrom(
      "null",
      "True",
      "no",
      "1e3",
      "0x1f",
      "~",
      "- a",
      "a: b",
      "a #b",
      ".inf",
      "/a/b.txt",
      "memory:books",
      "a:",
      "c:\\d",
    );
    fc.assert(
      fc.property(fc.oneof(value, words, fc.array(value), fc.record({ a: value, b: fc.array(words) })), (each) => {
        // JSON has no negative zero.
        expect(parse(yamlText({ key: each }))).toEqual(JSON.parse(JSON.stringify({ key: each })));
      }),
      { numRuns: 500 },
    );
  });
});

describe("the JSON Schema of settings", () => {
  const json = schema.jsonSchema();

  it("has types, ranges, choices, defaults, descriptions and groups, and lets no other key in", () => {
    expect(json).toMatchObject({ title: "layerwise: settings of sample", type: "object", additionalProperties: false });
    expect(json.required).toBeUndefined();
    expect(json.properties).toMatchObject({
      task: { const: "sample" },
      width: {
        type: "integer",
        minimum: 1,
        default: 192,
        description: "width of the hidden state",
        "x-group": "Model",
      },
      dropout: { type: "number", minimum: 0, exclusiveMaximum: 1 },
      mode: { enum: ["fast", "slow"] },
      rate: { anyOf: [{ type: "number", exclusiveMinimum: 0 }, { type: "null" }], examples: [0.002], default: null },
    });
    expect(json.properties!.width).not.toHaveProperty("maximum");
  });

  it("accepts and refuses what the settings do", () => {
    const read = fromJSONSchema(json);
    for (const values of [{}, schema.defaults, schema.presets.tiny, { task: "sample", plan: "0,1" }])
      expect(read.safeParse(values).success).toBe(true);
    for (const values of [{ widht: 1 }, { width: 0 }, { mode: "x" }, { plan: "a" }, { task: "other" }, { clip: "1" }])
      expect(read.safeParse(values).success, JSON.stringify(values)).toBe(false);
  });
});
