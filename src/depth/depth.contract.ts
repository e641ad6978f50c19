/** What every depth policy must do, as one suite: own its parameters, keep shapes, use all it owns, and keep texts apart. */
import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { difference, runOnce } from "../engine/engine.contract.ts";
import { ortEngine } from "../engine/ort.ts";
import { referenceEngine } from "../engine/reference.ts";
import {
  add,
  gradients,
  input,
  is,
  mean,
  multiply,
  type NoiseInput,
  simplifyNamed,
  slice,
  square,
  type Tensor,
  topological,
} from "../graph/index.ts";
import type { KeyValues } from "../nn/attention.ts";
import { causalMask, inference, initialise, Training } from "../nn/index.ts";
import type { Deepened, DepthPolicy } from "./policy.ts";

const [BATCH, LENGTH] = [2, 3];

/** A policy over blocks of the given width. */
export type OpenPolicy = (width: number) => DepthPolicy;

/** The state squared, in the mean, by exits where there are some, and the penalty: something that all parameters should move. */
function lossOf({ hidden, exits = [], penalty }: Deepened): Tensor {
  const terms: Tensor[] = exits.map((exit) => mean(multiply(square(exit.hidden), exit.probability)));
  const loss = terms.length > 0 ? terms.reduce((a, b) => add(a, b)) : mean(square(hidden));
  return penalty ? add(loss, penalty) : loss;
}

const states = (width: number) => input("x", [BATCH * LENGTH, width]);
const rows = { batch: BATCH, length: LENGTH };
/** A head for those that ask one: the state itself. */
const scores = (hidden: Tensor) => hidden;
const numbers = (count: number, seed = 1) => Float32Array.from({ length: count }, (_, i) => Math.sin(seed + 1.7 * i));

/** First weights by name, moved a little so that no two gains or biases are alike, in double precision. */
function weightsOf(policy: DepthPolicy): Record<string, Float64Array> {
  const first = [...initialise(policy.parameters, 3)];
  return Object.fromEntries(
    first.map(([{ attributes }, data]) => {
      const random = new RandomStream(4, attributes.name);
      return [attributes.name, Float64Array.from(data, (value) => value + 0.05 * random.normal())];
    }),
  );
}

/** All that the graphs of a policy may ask for: weights, its scalars as they are midway, noise. */
function feedsFor(policy: DepthPolicy, noise: readonly NoiseInput[] = []): Record<string, Float64Array> {
  const scalars = Object.entries(policy.scalars ?? {}).map(([name, { at }]) => [name, Float64Array.of(at(50, 100))]);
  const random = new RandomStream(5, "noise");
  const drawn = noise.map(({ tensor, draw }) => {
    const count = (tensor.shape as number[]).reduce((a, b) => a * b, 1);
    const one = () => {
      const u = random.uniform();
      return draw.kind === "mask" ? (u < draw.keep ? 1 / draw.keep : 0) : draw.kind === "uniform" ? u : random.normal();
    };
    return [tensor.attributes.name, Float64Array.from({ length: count }, one)];
  });
  return { ...weightsOf(policy), ...Object.fromEntries([...scalars, ...drawn]) };
}

const oracle = referenceEngine({ precision: "double" });

/** Runs outputs of a policy on x, its scalars as they are midway. */
async function evaluate(policy: DepthPolicy, outputs: Record<string, Tensor>, x: Float32Array) {
  const leaves = topological(Object.values(outputs));
  const needed = new Set(
    leaves.flatMap((leaf) => (is(leaf, "parameter") || is(leaf, "input") ? leaf.attributes.name : [])),
  );
  const all = Object.entries({ ...feedsFor(policy), x });
  return runOnce(oracle, outputs, Object.fromEntries(all.filter(([name]) => needed.has(name))));
}

/** The loss of training with its slopes along all parameters, and what it is fed. */
function trainingLoss(policy: DepthPolicy, width: number) {
  const mode = new Training();
  const loss = lossOf(policy.apply(states(width), { rows, mode, mask: causalMask(LENGTH), scores }));
  const slopes = gradients(
    loss,
    policy.parameters.map(({ tensor }) => tensor),
  );
  const outputs = Object.fromEntries(slopes.map((slope, i) => [`slope of ${policy.parameters[i]!.name}`, slope]));
  const feeds: Record<string, Float64Array> = {
    ...feedsFor(policy, mode.noise),
    x: Float64Array.from(numbers(BATCH * LENGTH * width)),
  };
  return { loss, slopes: outputs, feeds };
}

/** Reads rows of one text after those whose keys and values are given. */
function read(policy: DepthPolicy, x: Tensor, past: readonly KeyValues[]): Deepened & { stored: KeyValues[] } {
  const stored: KeyValues[] = [];
  const caches = Array.from({ length: policy.caches ?? 0 }, (_, i) => {
    return { past: past[i], store: (pair: KeyValues) => stored.push(pair) };
  });
  const length = Number(x.shape[0]);
  const mask = length === 1 ? undefined : causalMask(length);
  return { stored, ...policy.apply(x, { rows: { batch: 1, length }, mode: inference, mask, caches, scores }) };
}

/** What the suite has to know of a policy. */
export interface ContractOptions {
  /** Gradients are, by intent, not the slopes of the loss: straight-through draws, loops that gradients do not enter. Default: false. */
  readonly bentGradients?: boolean;
}

/** Runs the suite on a policy; `open` makes a new one over blocks of the given width. */
export function depthContract(name: string, open: OpenPolicy, { bentGradients = false }: ContractOptions = {}): void {
  const width = 8;
  describe(`${name} keeps the depth policy's contract`, () => {
    it("owns distinct parameters, by node and by name", () => {
      const { parameters } = open(width);
      expect(new Set(parameters.map(({ tensor }) => tensor)).size).toBe(parameters.length);
      expect(new Set(parameters.map(({ name }) => name)).size).toBe(parameters.length);
    });

    it("says how many blocks run at most", () => {
      const { depth } = open(width);
      expect(Number.isInteger(depth)).toBe(true);
      expect(depth).toBeGreaterThanOrEqual(1);
    });

    it.each([
      ["known", { batch: BATCH, length: LENGTH }, BATCH * LENGTH],
      ["named", { batch: "B", length: "T" }, "B*T"],
    ])("keeps the shape of its rows, at %s sizes", (_, sizes, count) => {
      const { hidden, penalty } = open(width).apply(input("x", [count, width]), {
        rows: sizes,
        mode: inference,
        scores,
      });
      expect([hidden.shape, hidden.dtype]).toEqual([[count, width], "float"]);
      if (penalty) expect([penalty.shape, penalty.dtype]).toEqual([[], "float"]);
    });

    it("takes no random numbers but from its mode", () => {
      const { hidden, probes } = open(width).apply(states(width), { rows, mode: inference, scores });
      const inputs = topological([hidden, ...Object.values(probes)]).filter((node) => is(node, "input"));
      expect(inputs.map(({ attributes }) => attributes)).toEqual([expect.objectContaining({ name: "x" })]);
    });

    it("knows the course of every scalar that it asks training for", () => {
      const { scalars = {} } = open(width);
      for (const [name, { input, at }] of Object.entries(scalars)) {
        expect([input.attributes.name, input.shape]).toEqual([name, []]);
        // Of a run measured in minutes the number of updates is not known at first.
        for (const total of [1, 100, Number.MAX_SAFE_INTEGER]) {
          const values = [0, Math.floor(total / 2), total - 1].map((step) => at(step, total));
          expect(values.every(Number.isFinite), `${name} of ${total}: ${values}`).toBe(true);
        }
      }
    });

    it("asks training for its scalars and its noise, and for nothing else", () => {
      const policy = open(width);
      const mode = new Training();
      const used = topological([lossOf(policy.apply(states(width), { rows, mode, scores }))]).filter((node) =>
        is(node, "input"),
      );
      const scalars = Object.values(policy.scalars ?? {}).map(({ input }) => input);
      const known = new Set<Tensor>([...scalars, ...mode.noise.map(({ tensor }) => tensor)]);
      expect(used.filter((node) => !known.has(node)).map(({ attributes }) => attributes.name)).toEqual(["x"]);
      expect(scalars.filter((scalar) => !used.includes(scalar))).toEqual([]);
    });

    it("uses every parameter it owns, and no other", () => {
      const policy = open(width);
      const used = topological([lossOf(policy.apply(states(width), { rows, mode: new Training(), scores }))]);
      const found = new Set(used.filter((node) => is(node, "parameter")));
      expect(found).toEqual(new Set(policy.parameters.map(({ tensor }) => tensor)));
    });

    it("is the same weights when it is applied again", async () => {
      const policy = open(width);
      const [a, b] = [0, 1].map(() => policy.apply(states(width), { rows, mode: inference, scores }).hidden);
      const found = await evaluate(policy, { a: a! }, numbers(BATCH * LENGTH * width));
      const again = await evaluate(policy, { b: b! }, numbers(BATCH * LENGTH * width));
      expect(again.b!.data).toEqual(found.a!.data);
    });

    it("gives finite states and slopes", async () => {
      const policy = open(width);
      const loss = lossOf(policy.apply(states(width), { rows, mode: inference, scores }));
      const wanted = policy.parameters.map(({ tensor }) => tensor);
      const outputs = Object.fromEntries(gradients(loss, wanted).map((slope, i) => [`slope ${i}`, slope]));
      const found = await evaluate(policy, outputs, numbers(BATCH * LENGTH * width));
      for (const { data } of Object.values(found)) expect(data.every(Number.isFinite)).toBe(true);
      const moved = Object.values(found).filter(({ data }) => data.some((value) => value !== 0));
      expect(moved.length).toBeGreaterThan(0);
    });

    it.skipIf(bentGradients)("has the slopes that central differences have, in training", async () => {
      const { loss, slopes, feeds } = trainingLoss(open(width), width);
      const found = await runOnce(oracle, slopes, feeds);
      for (const [output, { data }] of Object.entries(found)) {
        const name = output.slice("slope of ".length);
        const random = new RandomStream(6, name);
        const direction = Array.from(data, () => random.normal());
        const at = async (h: number) => {
          const moved = { ...feeds, [name]: feeds[name]!.map((value, i) => value + h * direction[i]!) };
          return (await runOnce(oracle, { loss }, moved)).loss!.data[0]!;
        };
        const slope = direction.reduce((total, each, i) => total + each * data[i]!, 0);
        // h² times a third derivative along a direction of up to a hundred numbers.
        expect(Math.abs(slope - ((await at(1e-5)) - (await at(-1e-5))) / 2e-5), name).toBeLessThan(1e-6);
      }
    });

    it("computes on ONNX Runtime what the oracle computes, loss and slopes", async () => {
      const { loss, slopes, feeds } = trainingLoss(open(width), width);
      const outputs = simplifyNamed({ ...slopes, loss });
      const single = Object.fromEntries(Object.entries(feeds).map(([name, data]) => [name, Float32Array.from(data)]));
      const [found, expected] = [
        await runOnce(await ortEngine({ threads: 1 }), outputs, single),
        await runOnce(oracle, { ...slopes, loss }, single),
      ];
      // Single precision through some ten blocks, forwards and backwards.
      for (const name of Object.keys(expected)) {
        expect(difference(found[name]!.data, expected[name]!.data), name).toBeLessThan(2e-5);
      }
    });

    it("continues a text from its caches, where it has them, as it reads it at once", async () => {
      const policy = open(width);
      if (policy.caches === undefined) return;
      const text = input("x", [LENGTH, width]);
      const row = (x: Tensor) => slice(x, 0, LENGTH - 1, LENGTH);
      const first = read(policy, slice(text, 0, 0, LENGTH - 1), []);
      expect(first.stored).toHaveLength(policy.caches);
      const outputs = { whole: row(read(policy, text, []).hidden), last: read(policy, row(text), first.stored).hidden };
      const { whole, last } = await evaluate(policy, outputs, numbers(LENGTH * width));
      expect(difference(last!.data, whole!.data)).toBeLessThan(1e-12);
    });

    it("keeps the texts of a batch apart", async () => {
      const policy = open(width);
      const { hidden } = policy.apply(states(width), { rows, mode: inference, scores });
      const text = LENGTH * width;
      const x = numbers(BATCH * text);
      const other = Float32Array.from(x, (value, i) => (i < text ? value : -2 * value));
      const [a, b] = [await evaluate(policy, { hidden }, x), await evaluate(policy, { hidden }, other)];
      expect(b.hidden!.data.slice(0, text)).toEqual(a.hidden!.data.slice(0, text));
      expect(b.hidden!.data.slice(text)).not.toEqual(a.hidden!.data.slice(text));
    });
  });
}
