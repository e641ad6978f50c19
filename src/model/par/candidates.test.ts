import ort from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { parsePattern, patternBlocks, printPattern } from "../../depth/pattern.ts";
import { difference } from "../../engine/engine.contract.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { add, multiply, sigmoid } from "../../graph/index.ts";
import { initialise, Linear } from "../../nn/index.ts";
import { lower } from "../../onnx/lower.ts";
import { adam } from "../../train/optimiser.ts";
import { TrainingStep } from "../../train/step.ts";
import { generateIds } from "../generation.ts";
import { reportOn } from "../report.ts";
import { attention, candidateName, custom, feedForward, identity, type MakeCandidate } from "./candidates.ts";
import { parProgram } from "./export.ts";
import { foundNetwork } from "./found.ts";
import { type ParOptions, parModel } from "./par.ts";

/** A block of a user: x + down(value · σ(gate)). */
const gatedMlp: MakeCandidate = (name, { width, size = 12 }) => {
  const layer = (part: string, from: number, to: number) => new Linear(`${name}.${part}`, { in: from, out: to });
  const [gate, value, down] = [layer("gate", width, size), layer("value", width, size), layer("down", size, width)];
  return {
    parameters: [gate, value, down].flatMap(({ parameters }) => [...parameters]),
    apply: (x) => add(x, down.apply(multiply(value.apply(x), sigmoid(gate.apply(x))))),
  };
};

const gated = custom("g", gatedMlp, { name: "gated mlp" });
const candidates = [attention(), feedForward({ hidden: 20 }), gated, identity];
const options: ParOptions = { vocabulary: 20, width: 8, heads: 2, hidden: 12, blocks: 3, candidates, memory: 4 };
const supernet = parModel(options);
const [BATCH, LENGTH] = [2, 5];
const segment = {
  ids: Int32Array.from({ length: BATCH * LENGTH }, (_, i) => (7 * i + 3) % 20),
  targets: Int32Array.from({ length: BATCH * LENGTH }, (_, i) => (7 * i + 10) % 20),
};

/** A few updates of weights and π, with the course of the temperature. */
async function searched() {
  const objective = supernet.objective({ batch: BATCH, length: LENGTH, training: true });
  const groups = [{ parameters: supernet.parameters.map(({ tensor }) => tensor), optimiser: adam() }];
  const initial = initialise(supernet.parameters, 1);
  const step = await TrainingStep.create({
    engine: referenceEngine(),
    ...objective,
    probes: {},
    groups,
    initial,
    seed: 1,
  });
  const losses: number[] = [];
  for (let i = 0; i < 10; i++) {
    const temperature = [objective.courses!.temperature!(i, 10)];
    const missing = [supernet.missingAfter(i, LENGTH)];
    losses.push((await step.run({ ...segment, missing, temperature, ...supernet.rowsOf(segment.targets) }, 0.02)).loss);
  }
  const weights = new Map([...step.weights].map(([tensor, data]) => [tensor, data.slice()]));
  await step.release();
  return { losses, weights };
}

describe("a candidate of one's own", () => {
  it("is searched, found, generated from, exported and reported", async () => {
    const { losses, weights } = await searched();
    expect(losses.at(-1)!).toBeLessThan(losses[0]!);
    const found = foundNetwork(supernet, weights, "sg f:20");
    expect(found.model.policy.pattern(found.weights)).toBe("s g f:20");
    expect(reportOn(found.model, { length: LENGTH })).toMatchObject({ uniqueBlocks: 3, executedDepth: 3 });

    const decoder = await found.model.open(referenceEngine(), found.weights);
    const text = [3, 1, 4, 1, 5];
    const last = (await decoder.read(text)).slice();
    await decoder.release();
    const ids: number[] = [];
    const asked = { prompt: text, maxTokens: 4, temperature: 0 };
    for await (const id of generateIds(referenceEngine(), found.model, found.weights, asked)) ids.push(id);
    expect(ids).toHaveLength(4);

    const bytes = lower(parProgram(found.model, found.weights, { length: LENGTH, memory: 4 }));
    const session = await ort.InferenceSession.create(bytes);
    // The gated block looks at no memory, so the program asks for that of attention alone.
    expect(session.inputNames).toEqual(["ids", "memory.0", "missing"]);
    const { log_probabilities } = await session.run({
      ids: new ort.Tensor("int32", Int32Array.from(text), [1, LENGTH]),
      missing: new ort.Tensor("int32", Int32Array.of(4), []),
      "memory.0": new ort.Tensor("float32", new Float32Array(4 * 8), [1, 4, 8]),
    });
    const exported = (log_probabilities!.data as Float32Array).slice(-20);
    // Single precision; memories of the decoder pass through it token by token.
    expect(difference(exported, last)).toBeLessThan(1e-5);
  });

  it("keeps its name when others are cut, and its size beside the default", () => {
    const two = parModel({ ...options, candidates: [gated, custom("g", gatedMlp, { size: 6 }), identity] });
    const cut = two.narrowed([[1], [0, 1], [2]]);
    const shapes = Object.fromEntries(cut.parameters.map(({ name, tensor }) => [name, tensor.shape]));
    expect(shapes["blocks.0.g2.gate.weight"]).toEqual([6, 8]);
    expect(shapes["blocks.1.g.gate.weight"]).toEqual([12, 8]);
    expect(cut.policy.pattern(initialise(cut.parameters, 1))).toBe("g:6 g i");
  });

  it("stands in a pattern by its letter, where the candidates are given", () => {
    expect(parsePattern("(sg)x2 g:64 f:20 i", candidates)).toEqual([
      ...["attention", "g", "attention", "g"],
      ...["g", "feed-forward", "identity"],
    ]);
    expect(printPattern(patternBlocks("s g s g g:64", candidates))).toBe("(sg)x2 g:64");
    expect(() => parsePattern("sg")).toThrow('not readable from "g"; write (sfff)x6(f)x8, or give the candidates');
    expect(() => printPattern(["gated mlp"])).toThrow('or the letter of a candidate of your own, got "gated mlp"');
  });

  it("has its name in tables", () => {
    expect([gated, custom("h", gatedMlp, { size: 6 })].map(candidateName)).toEqual(["gated mlp", "h 6"]);
  });
});

describe("mistakes with candidates of one's own", () => {
  it.each(["s", "f", "i", "x", "gg", "", "1", "("])("refuse the letter %j", (letter) => {
    expect(() => custom(letter, gatedMlp)).toThrow("expected one letter other than s, f, i and x");
  });

  it("refuse one name for two", () => {
    const named = custom("h", gatedMlp, { name: "gated mlp" });
    expect(() => parModel({ ...options, candidates: [gated, named] })).toThrow(
      "candidates: expected names of their own, got g and h, both called gated mlp",
    );
    const ours = custom("h", gatedMlp, { name: "attention" });
    expect(() => parModel({ ...options, candidates: [attention(), ours] })).toThrow("both called attention");
  });
});
