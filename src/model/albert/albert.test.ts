import { describe, expect, it } from "vitest";
import { runOnce } from "../../engine/engine.contract.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { input } from "../../graph/index.ts";
import { initialise } from "../../nn/index.ts";
import { type Albert, type AlbertOptions, albert, albertPlan } from "./albert.ts";
import { describedAlbert } from "./description.ts";
import {
  albertObjective,
  averagedDistinct,
  classificationHead,
  type Head,
  maskedLanguageHead,
  multipleChoiceHead,
  questionAnsweringHead,
  sentenceOrderHead,
  textInputs,
  tokenClassificationHead,
} from "./heads.ts";
import { IGNORED } from "./losses.ts";

const sizes = { vocabulary: 12, embedding: 4, width: 8, heads: 2, hidden: 16, depth: 3, length: 8 };
const shape = { batch: 2, length: 4 };
const texts = {
  ids: Int32Array.of(2, 5, 6, 3, 2, 7, 3, 0),
  mask: Int32Array.of(1, 1, 1, 1, 1, 1, 1, 0),
  types: Int32Array.of(0, 0, 1, 1, 0, 1, 1, 0),
};

describe("ALBERT", () => {
  it("splits its depths among groups, and runs all layers of a group", () => {
    expect(albertPlan({ depth: 6, groups: 1, inner: 1 })).toEqual([0, 0, 0, 0, 0, 0]);
    expect(albertPlan({ depth: 4, groups: 2, inner: 2 })).toEqual([0, 1, 0, 1, 2, 3, 2, 3]);
  });

  it("owns one layer, however deep", () => {
    const names = (depth: number) => albert({ ...sizes, depth }).parameters.map(({ name }) => name);
    expect(names(12)).toEqual(names(3));
    expect(names(3)).toHaveLength(25);
    expect(albert({ ...sizes, halting: {} }).parameters).toHaveLength(27);
  });

  it("does not let padding change what real tokens become", async () => {
    for (const halting of [undefined, {}, { pads: "run" as const }]) {
      const model = albert({ ...sizes, halting });
      const long = await sequenceOf(model, { batch: 1, length: 6 }, [2, 5, 6, 3, 0, 0], 4);
      const short = await sequenceOf(model, { batch: 1, length: 4 }, [2, 5, 6, 3], 4);
      expect(long.slice(0, 32)).toEqual(short);
    }
  });

  it("lets no token see what comes after it where it is causal", async () => {
    for (const halting of [undefined, {}]) {
      const model = albert({ ...sizes, halting });
      const [one, other] = [
        [2, 5, 6, 3],
        [2, 5, 6, 9],
      ];
      const first = (ids: number[], causal: boolean) => sequenceOf(model, { batch: 1, length: 4, causal }, ids, 4);
      expect((await first(one!, true)).slice(0, 24)).toEqual((await first(other!, true)).slice(0, 24));
      expect((await first(one!, false)).slice(0, 24)).not.toEqual((await first(other!, false)).slice(0, 24));
    }
  });

  it.each<[object, string]>([
    [{ hiddenSize: 8 }, "ALBERT: expected options among vocabulary, embedding, width, heads, hidden"],
    [{ layers: 3 }, "got layers"],
    [{ activation: "swish" }, "ALBERT / activation: expected one of relu, relu2, silu, tanh, gelu, gelu_new"],
    [{ dropout: 2 }, "ALBERT / dropout: expected a number from 0 to below 1, got 2"],
    [{ width: undefined }, "ALBERT / width: expected a whole number from 1 to 65536, got nothing"],
    [{ epsilon: 0 }, "ALBERT / epsilon: expected a number above 0, got 0"],
  ])("refuses %j", (wrong, message) => {
    expect(() => albert({ ...sizes, ...wrong })).toThrow(message);
  });

  it("keeps its defaults where an option is undefined", () => {
    const options: object = { embedding: undefined, dropout: undefined };
    expect(albert({ ...sizes, ...options }).options).toMatchObject({ embedding: 128, dropout: 0 });
  });

  it("refuses inputs it does not have", () => {
    const ids = input("ids", [1, 4], "int");
    const inputs = { ids, attention_mask: ids };
    expect(() => albert(sizes).encode(inputs)).toThrow(
      "ALBERT / inputs: expected options among ids, mask, types, caps, causal",
    );
  });

  it("refuses texts longer than its positions", () => {
    const ids = input("ids", [1, 9], "int");
    expect(() => albert(sizes).encode({ ids })).toThrow("ALBERT: expected texts of at most 8 tokens, got 9");
  });
});

type Size = { batch: number; length: number; causal?: boolean };

async function sequenceOf(model: Albert, { causal, ...at }: Size, ids: number[], real: number) {
  const { sequence } = model.encode({ ...textInputs(at), causal });
  const weights = [...initialise(model.parameters, 1)].map(([{ attributes }, data]) => [attributes.name, data]);
  const feeds = {
    ids: Int32Array.from(ids),
    mask: Int32Array.from(ids, (_, i) => (i < real ? 1 : 0)),
    types: new Int32Array(ids.length),
    ...Object.fromEntries(weights),
  };
  return Array.from((await runOnce(referenceEngine(), { sequence }, feeds)).sequence!.data);
}

const logSumExp = (row: readonly number[]) => Math.log(row.reduce((sum, x) => sum + Math.exp(x), 0));
const entropy = (row: readonly number[], label: number) => logSumExp(row) - row[label]!;
const average = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
const softplus = (z: number) => Math.log(1 + Math.exp(z));

interface HeadCase {
  name: string;
  /** Default: the sizes of all. */
  model?: AlbertOptions;
  open: (model: Albert) => Head;
  targets: Record<string, Int32Array | Float32Array>;
  /** The loss by hand, from the logits as rows. */
  expected: (rows: Record<string, number[][]>) => number;
}

const labels = Int32Array.of(IGNORED, 4, IGNORED, 9, 1, IGNORED, IGNORED, IGNORED);
const heads: HeadCase[] = [
  {
    name: "masked language model",
    open: (model) => maskedLanguageHead(model),
    targets: { labels },
    expected: ({ words }) => average([entropy(words![1]!, 4), entropy(words![3]!, 9), entropy(words![4]!, 1)]),
  },
  {
    name: "masked language model at given places",
    open: (model) => maskedLanguageHead(model, { predictions: 2 }),
    targets: {
      maskedPositions: Int32Array.of(1, 3, 0, 0),
      maskedLabels: Int32Array.of(4, 9, 1, 0),
      maskedWeights: Float32Array.of(1, 1, 1, 0),
    },
    expected: ({ words }) => (entropy(words![0]!, 4) + entropy(words![1]!, 9) + entropy(words![2]!, 1)) / (3 + 1e-5),
  },
  {
    name: "sentence order",
    open: (model) => sentenceOrderHead(model),
    targets: { order: Int32Array.of(1, 0) },
    expected: ({ order }) => average([entropy(order![0]!, 1), entropy(order![1]!, 0)]),
  },
  {
    name: "one class a text",
    open: (model) => classificationHead(model, { labels: 3 }),
    targets: { labels: Int32Array.of(2, 0) },
    expected: ({ classes }) => average([entropy(classes![0]!, 2), entropy(classes![1]!, 0)]),
  },
  {
    name: "several classes a text, of the mean of its tokens",
    open: (model) => classificationHead(model, { labels: 2, kind: "multiple", pooling: "mean" }),
    targets: { labels: Float32Array.of(1, 0, 1, 1) },
    expected: ({ classes }) => {
      const [a, b, c, d] = classes!.flat();
      return average([softplus(-a!), softplus(b!), softplus(-c!), softplus(-d!)]);
    },
  },
  {
    name: "one class a text, of the mean of its distinct pieces",
    open: (model) => classificationHead(model, { labels: 3, pooling: "distinct" }),
    targets: { labels: Int32Array.of(2, 0) },
    expected: ({ classes }) => average([entropy(classes![0]!, 2), entropy(classes![1]!, 0)]),
  },
  {
    name: "one class a text, of the means of its distinct pieces and pairs",
    model: { ...sizes, pairs: 50 },
    open: (model) => classificationHead(model, { labels: 3, pooling: "pairs" }),
    targets: { labels: Int32Array.of(2, 0) },
    expected: ({ classes }) => average([entropy(classes![0]!, 2), entropy(classes![1]!, 0)]),
  },
  {
    name: "regression",
    open: (model) => classificationHead(model, { labels: 1, kind: "regression" }),
    targets: { labels: Float32Array.of(0.5, -2) },
    expected: ({ classes }) => average([(classes![0]![0]! - 0.5) ** 2, (classes![1]![0]! + 2) ** 2]),
  },
  {
    name: "a class a token",
    open: (model) => tokenClassificationHead(model, { labels: 10 }),
    targets: { labels },
    expected: ({ tokens }) => average([entropy(tokens![1]!, 4), entropy(tokens![3]!, 9), entropy(tokens![4]!, 1)]),
  },
  {
    name: "question answering, with an end beyond the text",
    open: (model) => questionAnsweringHead(model),
    targets: { starts: Int32Array.of(1, 0), ends: Int32Array.of(2, 9) },
    expected: ({ starts, ends }) =>
      (average([entropy(starts![0]!, 1), entropy(starts![1]!, 0)]) + entropy(ends![0]!, 2)) / 2,
  },
  {
    name: "multiple choice",
    open: (model) => multipleChoiceHead(model, { choices: 2 }),
    targets: { labels: Int32Array.of(1) },
    expected: ({ choices }) => entropy(choices![0]!, 1),
  },
];

describe("ALBERT's heads", () => {
  it("count each distinct piece once, and no padding", async () => {
    const model = albert(sizes);
    const length = 6;
    const encoded = model.encode(textInputs({ batch: 1, length }));
    const { sequence, ids } = encoded;
    const feeds = { ids: [2, 5, 6, 5, 5, 0], mask: [1, 1, 1, 1, 1, 0], types: [0, 0, 0, 0, 0, 0] };
    const weights = [...initialise(model.parameters, 5)].map(([{ attributes }, data]) => [attributes.name, data]);
    const given = Object.entries(feeds).map(([name, values]) => [name, Int32Array.from(values)]);
    const outputs = { rows: sequence, vector: averagedDistinct(encoded) };
    const found = await runOnce(referenceEngine(), outputs, Object.fromEntries([...given, ...weights]));
    const rows = rowsOf(found.rows!);
    const fives = rows[1]!.map((value, i) => (value + rows[3]![i]! + rows[4]![i]!) / 3);
    const expected = fives.map((value, i) => (rows[0]![i]! + value + rows[2]![i]!) / 3);
    for (const [i, value] of rowsOf(found.vector!)[0]!.entries()) expect(value).toBeCloseTo(expected[i]!, 5);
    expect(() => averagedDistinct({ ...encoded, ids: undefined })).toThrow("expected the pieces of the texts");
    expect(ids!.shape).toEqual([1, length]);
  });

  it.each(heads)(
    "$name: the loss is what its logits and targets give",
    async ({ model: options = sizes, open, targets, expected }) => {
      const model = albert(options);
      const head = open(model);
      const { loss, logits } = albertObjective(model, [head], { ...shape, training: false });
      const parameters = [...model.parameters, ...head.parameters];
      const weights = [...initialise(parameters, 5)].map(([{ attributes }, data]) => {
        return [attributes.name, data.map((value, i) => value + 0.3 * Math.sin(i))] as const;
      });
      const named = Object.fromEntries(Object.entries(logits).map(([name, tensor]) => [`logits ${name}`, tensor]));
      const feeds = { ...texts, ...targets, ...Object.fromEntries(weights) };
      const found = await runOnce(referenceEngine(), { loss, ...named }, feeds);
      const rows = Object.keys(logits).map((name) => [name, rowsOf(found[`logits ${name}`]!)]);
      expect(Number(found.loss!.data[0])).toBeCloseTo(expected(Object.fromEntries(rows)), 5);
    },
  );

  it.each<[string, (model: Albert) => unknown, string]>([
    ["labels: 0", (m) => classificationHead(m, { labels: 0 }), "classification head / labels: expected a whole number"],
    ["kind", (m) => classificationHead(m, { labels: 2, kind: "multi" as "multiple" }), "did you mean multiple?"],
    ["dropout: 1", (m) => tokenClassificationHead(m, { labels: 2, dropout: 1 }), "token classification head / dropout"],
    ["pairs", (m) => classificationHead(m, { labels: 2, pooling: "pairs" }), "expected a model with a table of pairs"],
    ["choices", (m) => multipleChoiceHead(m, { choice: 2 } as never), "got choice; did you mean choices?"],
    ["a name", () => describedAlbert({ model: sizes, heads: { classifier: {} } as object }), "heads: expected options"],
  ])("refuse wrong options: %s", (_, build, message) => {
    expect(() => build(albert(sizes))).toThrow(message);
  });

  it("need a pooler where they read the pooled vector", () => {
    const model = albert({ ...sizes, pooler: false });
    const build = () => albertObjective(model, [sentenceOrderHead(model)], { ...shape, training: false });
    expect(build).toThrow("head: expected a model with a pooler, got pooler: false");
  });

  it("draw dropout while training, and add the penalty of halting", () => {
    const model = albert({ ...sizes, dropout: 0.1, halting: { ponder: 0.1 } });
    const { noise, encoded } = albertObjective(model, [classificationHead(model, { labels: 2 })], {
      ...shape,
      training: true,
    });
    expect(noise.length).toBe(2 + 2 * sizes.depth);
    expect(encoded.penalty).toBeDefined();
  });
});

function rowsOf({ data, shape }: { data: ArrayLike<number>; shape: readonly number[] }): number[][] {
  const [count = 1, width = 1] = shape;
  return Array.from({ length: count }, (_, i) => Array.from({ length: width }, (_, j) => Number(data[i * width + j])));
}
