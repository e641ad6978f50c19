import { describe, expect, it } from "vitest";
import { runOnce } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { gradients, input, is, multiply, sum, type Tensor, topological } from "../graph/index.ts";
import { type Block, inference, initialise, newParameter, ones, Training, TransformerBlock } from "../nn/index.ts";
import { depthContract } from "./depth.contract.ts";
import { fixed } from "./fixed.ts";
import { type LoopedOptions, looped } from "./looped.ts";
import { loopCourse } from "./loops.ts";
import { nested } from "./nested.ts";

const WIDTH = 8;
const rows = { batch: 2, length: 3 };
const block = (name: string, width = WIDTH) =>
  new TransformerBlock(name, { width, heads: 2, hidden: 12, dropout: 0, activation: "gelu" });

const parts = (width = WIDTH) => ({
  prelude: [block("prelude", width)],
  core: [block("core.0", width), block("core.1", width)],
  coda: [block("coda", width)],
  width,
});
const policyOf = (options: Partial<LoopedOptions>) => looped({ ...parts(), loops: 3, ...options });

depthContract("looped", (width) => looped({ core: [block("core", width)], loops: 4, width }));
depthContract("looped with the input added", (width) => looped({ ...parts(width), loops: 2, injection: "add" }));
depthContract("looped with a linear adapter", (width) => looped({ ...parts(width), loops: 2, injection: "linear" }));
depthContract("looped with a stable diagonal", (width) => looped({ ...parts(width), loops: 3, injection: "diagonal" }));
depthContract("looped with drawn counts", (width) =>
  looped({ ...parts(width), loops: { mean: 2, most: 4 }, injection: "add" }),
);
depthContract(
  "looped with short gradients",
  (width) => looped({ ...parts(width), loops: { most: 4, from: 1 }, injection: "diagonal", gradientLoops: 1 }),
  { bentGradients: true },
);
depthContract("loops of loops", (width) => {
  const inner = looped({ core: [block("core", width)], loops: 2, width, injection: "add" });
  const outer = (core: readonly Block[], plan: readonly number[]) =>
    looped({ core, loops: plan.length, width, injection: "linear", name: "outer" });
  return nested([inner], [0, 0], outer);
});

const states = Float64Array.from({ length: 6 * WIDTH }, (_, i) => Math.sin(1 + 1.7 * i));
const x = input("x", [6, WIDTH]);
const identityBlock: Block = { parameters: [], caches: 0, apply: (s) => s };

async function run(parameters: Parameters<typeof initialise>[0], outputs: Record<string, Tensor>, loops = 0) {
  const weights = [...initialise(parameters, 3)].map(([{ attributes }, data]) => [attributes.name, data] as const);
  const used = topological(Object.values(outputs)).flatMap((n) =>
    is(n, "parameter") || is(n, "input") ? n.attributes.name : [],
  );
  const all = Object.entries({ x: states, loops: Float64Array.of(loops), ...Object.fromEntries(weights) });
  const feeds = Object.fromEntries(all.filter(([name]) => used.includes(name)));
  return runOnce(referenceEngine({ precision: "double" }), outputs, feeds);
}

describe("looped depth", () => {
  it("without injection is the plan that repeats the core", async () => {
    const { prelude, core, coda } = parts();
    const policy = policyOf({ prelude, core, coda });
    const plan = fixed([...prelude, ...core, ...coda], [0, 1, 2, 1, 2, 1, 2, 3]);
    const [a, b] = [policy, plan].map((each) => each.apply(x, { rows, mode: inference }).hidden);
    const found = await run(policy.parameters, { a: a!, b: b! });
    expect(found.a!.data).toEqual(found.b!.data);
    expect([policy.depth, policy.unique, policy.caches]).toEqual([8, 4, 8]);
  });

  it.each([1, 2, 3])("in training runs as many of its unrolled loops as it is told: %d", async (loops) => {
    const policy = policyOf({ loops: { mean: 2, most: 3 }, injection: "diagonal" });
    const trained = policy.apply(x, { rows, mode: new Training() }).hidden;
    const used = policy.at(loops).apply(x, { rows, mode: inference }).hidden;
    const found = await run(policy.parameters, { trained, used }, loops);
    expect(found.trained!.data).toEqual(found.used!.data);
  });

  it("runs the mean in use, or the count that is set, also one beyond training", () => {
    const policy = policyOf({ loops: { mean: 2.6, most: 5 } });
    expect([policy.loops, policy.at(9).loops, policy.at(9).caches]).toEqual([3, 9, 20]);
    expect(policy.at(9).parameters).toEqual(policy.parameters);
    expect(() => policy.at(0)).toThrow("looped / loops: expected a whole number from 1, got 0");
  });

  it.each([
    ["a fixed count", 4],
    ["a drawn count", { mean: 3, most: 6 }],
  ])("lets gradients through the last loops only, of %s", async (_, loops) => {
    const gain = newParameter("gain", [WIDTH], ones);
    // Each loop multiplies by the gain: through k of 4 loops the slope of Σ gainⁿ·… sees k of them.
    const core: Block = { parameters: [gain], caches: 0, apply: (s) => multiply(s, gain.tensor) };
    const slopes = [1, 2, 4].map((gradientLoops) => {
      const policy = looped({ core: [core], loops, width: WIDTH, injection: "add", gradientLoops });
      return gradients(sum(policy.apply(x, { rows, mode: new Training() }).hidden), [gain.tensor])[0]!;
    });
    const found = await run([gain], Object.fromEntries(slopes.map((slope, k) => [`s${k}`, slope])), 4);
    // With gain 1 the state entering loop i (from 0) is (i + 1)·x: the last k loops add (4 + 3 + …)·Σx.
    const column = [0, 1, 2, 3, 4, 5].reduce((total, row) => total + states[row * WIDTH]!, 0);
    expect([0, 1, 2].map((k) => found[`s${k}`]!.data[0]! / column)).toEqual(
      [4, 7, 10].map((n) => expect.closeTo(n, 9)),
    );
  });

  it("keeps the diagonal's factor between 0 and 1", async () => {
    const policy = looped({ core: [identityBlock], loops: 60, width: WIDTH, injection: "diagonal" });
    const { hidden } = policy.apply(x, { rows, mode: inference });
    const found = await run(policy.parameters, { hidden });
    // s = ½·s + log 2·e has its fixed point at 2·log 2·e.
    for (const [i, value] of found.hidden!.data.entries()) expect(value).toBeCloseTo(2 * Math.LN2 * states[i]!, 12);
  });

  it.each<[string, object, string]>([
    ["no core", { core: [] }, "looped / core: expected at least one block"],
    ["half a loop", { loops: 0.5 }, "looped / loops: expected a whole number from 1, got 0.5"],
    ["a mean above the most loops", { loops: { most: 4, mean: 9 } }, "mean: expected a number from 1 to 4, got 9"],
    ["a start above the most loops", { loops: { most: 4, from: 5 } }, "from: expected a number from 1 to 4, got 5"],
    [
      "gradients through more loops than run",
      { loops: 3, injection: "add", gradientLoops: 9 },
      "gradientLoops: expected a number from 1 to 3, got 9",
    ],
    ["a misspelt course", { loops: { most: 3, men: 2 } }, "did you mean mean?"],
    [
      "short gradients without injection",
      { gradientLoops: 1 },
      "looped / gradientLoops: expected an injection, got none",
    ],
    ["an unknown injection", { injection: "ad" }, "looped / injection: expected one of none, add, linear, diagonal"],
  ])("refuses %s", (_, options, message) => {
    expect(() => policyOf(options as never)).toThrow(message);
  });
});

describe("the count of loops in training", () => {
  const counts = (course: ReturnType<typeof loopCourse>, total = 4000) =>
    Array.from({ length: total }, (_, step) => course(step, total));

  it("is drawn around its mean, from 1 to the most, and the same for the same update", () => {
    const course = loopCourse({ mean: 4, most: 12 });
    const drawn = counts(course);
    expect(drawn.reduce((a, b) => a + b) / drawn.length).toBeCloseTo(4, 1);
    expect([Math.min(...drawn), Math.max(...drawn) <= 12, new Set(drawn).size > 8]).toEqual([1, true, true]);
    expect(course(77, 4000)).toBe(loopCourse({ mean: 4, most: 12 })(77, 10));
    expect(counts(loopCourse({ mean: 4, most: 12, seed: 2 }))).not.toEqual(drawn);
  });

  it("has the same mean but a longer tail with a spread", () => {
    const drawn = counts(loopCourse({ mean: 4, most: 40, spread: 0.5 }));
    expect(Math.abs(drawn.reduce((a, b) => a + b) / drawn.length - 4)).toBeLessThan(0.15);
    expect(Math.max(...drawn)).toBeGreaterThan(12);
  });

  it("grows from where it starts, over updates or a fraction of them", () => {
    const grown = loopCourse({ most: 4, from: 1, over: 0.5 });
    expect([0, 10, 25, 50, 99].map((step) => grown(step, 100))).toEqual([1, 2, 3, 4, 4]);
    expect([0, 3, 6, 9].map((step) => loopCourse({ most: 4, from: 1, over: 6 })(step, 100))).toEqual([1, 3, 4, 4]);
  });
});
