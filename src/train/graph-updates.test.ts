import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { Arena } from "../engine/arena.ts";
import { ortEngine } from "../engine/ort.ts";
import { input, parameter } from "../graph/index.ts";
import { ruleScalars, ruleUpdate } from "./graph-updates.ts";
import { allocateGroup, memoryBytes, type ParameterTensor, updateGroup } from "./memory.ts";
import { muon } from "./muon.ts";
import { adam, adamw, lamb, type Optimiser, sgd } from "./optimiser.ts";

const engine = await ortEngine({ threads: 1 });
const shape = [12, 10];

/** A program of the rule: weight, gradient, moments and scalars in, weight and moments out. */
function programOf({ rule, moments }: Optimiser) {
  const [weight, gradient] = [input("weight", shape), input("gradient", shape)];
  const before = moments.map((name) => input(name, shape));
  const names = Object.keys(ruleScalars(rule!, { rate: 1, step: 1 }));
  const scalars = Object.fromEntries(names.map((name) => [name, input(`scalar ${name}`, [])]));
  const next = ruleUpdate(rule!, { weight, gradient, moments: before }, scalars);
  const after = moments.map((name, i) => [`next ${name}`, next.moments[i]!] as const);
  return engine.compile({ outputs: { "next weight": next.weight, ...Object.fromEntries(after) } });
}

/** The kernels' memory of one weight. */
function memoryOf(optimiser: Optimiser, w: ParameterTensor, first: Float32Array) {
  const group = { parameters: [w], optimiser };
  const arena = new Arena(memoryBytes([group], []));
  const memory = allocateGroup(arena, group);
  const slot = memory.slots.get(w)!;
  slot.weight.set(first);
  return { arena, memory, slot };
}

/** The largest difference between weights and moments by kernels and by graph, over 20 updates by the same gradients. */
async function apart(optimiser: Optimiser): Promise<number> {
  const random = new RandomStream(7, "updates");
  const draw = () => Float32Array.from({ length: 120 }, () => random.normal());
  const { arena, memory, slot } = memoryOf(optimiser, parameter("w", shape), draw());
  const names = ["weight", ...optimiser.moments];
  let state = Object.fromEntries(names.map((name, i) => [name, i === 0 ? slot.weight.slice() : new Float32Array(120)]));
  const program = await programOf(optimiser);
  const asked = new Set(program.inputs.map(({ name }) => name));
  let worst = 0;
  for (let step = 1; step <= 20; step++) {
    const gradient = draw();
    slot.gradient.set(gradient);
    const rate = 0.1 / step;
    await updateGroup(arena, memory, { rate, step, gradientScale: 1 });
    const scalars = Object.entries(ruleScalars(optimiser.rule!, { rate, step }));
    const fed = Object.fromEntries(scalars.map(([name, value]) => [`scalar ${name}`, Float32Array.of(value)]));
    const feeds = Object.entries({ ...state, gradient, ...fed }).filter(([name]) => asked.has(name));
    const found = await program.run(Object.fromEntries(feeds));
    state = Object.fromEntries(names.map((name) => [name, Float32Array.from(found[`next ${name}`]!.data)]));
    [slot.weight, ...slot.moments].forEach((array, k) => {
      array.forEach((value, i) => {
        worst = Math.max(worst, Math.abs(value - state[names[k]!]![i]!) / Math.max(1, Math.abs(value)));
      });
    });
  }
  await program.release();
  await optimiser.release?.();
  return worst;
}

describe("updates written into a graph are those of the kernels to 1e-6, over 20 updates:", () => {
  it.each([
    ["adamw", adamw({ weightDecay: 0.1 })],
    ["adamw without decay", adamw({ weightDecay: 0 })],
    ["adamw, the rate takes the corrections", adamw({ correction: "rate", beta2: 0.98, epsilon: 1e-6 })],
    ["adamw without corrections", adamw({ correction: "none" })],
    ["adam with decay in the gradient", adam({ weightDecay: 0.1 })],
    ["lamb", lamb()],
    ["lamb without trust ratios", lamb({ adapt: false, correction: "exact" })],
    ["sgd", sgd({ weightDecay: 0.1 })],
    ["sgd with damped Nesterov momentum", sgd({ momentum: 0.9, dampening: 0.2, nesterov: true, weightDecay: 0.1 })],
    ["muon", muon(engine)],
    ["muon without looking ahead", muon(engine, { nesterov: false, weightDecay: 0 })],
  ])("%s", async (_, optimiser) => {
    expect(await apart(optimiser)).toBeLessThan(1e-6);
  });

  it("a weight of zeros has a trust ratio of 1", async () => {
    const program = await programOf(lamb({ weightDecay: 0 }));
    const [zeros, ones] = [new Float32Array(120), new Float32Array(120).fill(1)];
    const scalars = {
      "scalar rate": Float32Array.of(0.1),
      "scalar correction": Float32Array.of(1),
      "scalar root": Float32Array.of(1),
    };
    const found = await program.run({ weight: zeros, gradient: ones, m: zeros, v: zeros, ...scalars });
    // m = 0.1, v = 0.001, ε = 1e-6
    expect(found["next weight"]!.data[0]).toBeCloseTo((-0.1 * 0.1) / (Math.sqrt(0.001) + 1e-6), 5);
    await program.release();
  });
});
