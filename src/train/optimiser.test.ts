import { describe, expect, it } from "vitest";
import { Arena } from "../engine/arena.ts";
import { referenceEngine } from "../engine/reference.ts";
import { parameter } from "../graph/index.ts";
import { allocateGroup, memoryBytes, updateGroup } from "./memory.ts";
import { muon } from "./muon.ts";
import { adam, adamw, lamb, type Optimiser, sgd } from "./optimiser.ts";

const [a, b] = [parameter("a", [3]), parameter("b", [2, 2])];
const settings = { rate: 0.1, step: 1, gradientScale: 1 };

function groupOf(optimiser: Optimiser) {
  const group = { parameters: [a, b], optimiser };
  const arena = new Arena(memoryBytes([group], []));
  return { arena, memory: allocateGroup(arena, group) };
}

/** One update of weights 1, gradients 2; returns the weights of `a`. */
async function updated(optimiser: Optimiser): Promise<number[]> {
  const { arena, memory } = groupOf(optimiser);
  for (const { weight, gradient } of memory.slots.values()) {
    weight.fill(1);
    gradient.fill(2);
  }
  await updateGroup(arena, memory, settings);
  return [...memory.slots.get(a)!.weight];
}

describe("a group's memory", () => {
  it("lays tensors out at 64 bytes, in one stretch a kind", () => {
    const { memory } = groupOf(adam());
    const [slotA, slotB] = [memory.slots.get(a)!, memory.slots.get(b)!];
    expect(slotB.weight.byteOffset - slotA.weight.byteOffset).toBe(64);
    for (const array of [slotA.weight, slotB.gradient, ...slotB.moments]) expect(array.byteOffset % 64).toBe(0);
    expect(memory.whole.weight).toHaveLength(32);
    expect(slotA.moments).toHaveLength(2);
  });

  it("asks for exactly what it takes", () => {
    const { arena } = groupOf(adam());
    expect(arena.used).toBe(arena.capacity);
  });

  it("keeps the padding between tensors at zero", async () => {
    const { arena, memory } = groupOf(adamw());
    for (const { weight, gradient } of memory.slots.values()) [weight.fill(1), gradient.fill(2)];
    for (let step = 1; step < 5; step++) await updateGroup(arena, memory, { ...settings, step });
    expect([...memory.whole.weight.subarray(3, 16)]).toEqual(new Array(13).fill(0));
  });
});

describe("optimisers", () => {
  it.each([
    ["sgd", sgd(), 1 - 0.1 * 2],
    ["sgd with decay", sgd({ weightDecay: 0.5 }), 1 - 0.1 * 2.5],
    ["adam", adam(), 1 - 0.1],
    ["adamw", adamw({ weightDecay: 0.5 }), (1 - 0.1 * 0.5) * 1 - 0.1],
    // m = 0.2, v = 0.004, no correction: direction 0.2 / √0.004; the trust ratio turns its length into the weight's.
    ["lamb", lamb({ weightDecay: 0 }), 1 - 0.1],
    ["lamb without trust ratio", lamb({ weightDecay: 0, adapt: false }), 1 - (0.1 * 0.2) / Math.sqrt(0.004)],
  ])("%s makes the first step of its formula", async (_, optimiser, expected) => {
    for (const weight of await updated(optimiser)) expect(weight).toBeCloseTo(expected, 4);
  });

  it("lamb looks at one tensor at a time and keeps its last ratio", async () => {
    const optimiser = lamb({ weightDecay: 0 });
    const { arena, memory } = groupOf(optimiser);
    const [slotA, slotB] = [memory.slots.get(a)!, memory.slots.get(b)!];
    slotA.weight.fill(1);
    slotB.weight.fill(10);
    for (const { gradient } of [slotA, slotB]) gradient.fill(2);
    expect(optimiser.lastRatio?.(slotA)).toBeUndefined();
    await updateGroup(arena, memory, settings);
    expect(optimiser.lastRatio!(slotB)! / optimiser.lastRatio!(slotA)!).toBeCloseTo(10, 3);
  });

  it("sgd carries its momentum from step to step", async () => {
    const { arena, memory } = groupOf(sgd({ momentum: 0.9 }));
    const { weight, gradient } = memory.slots.get(a)!;
    gradient.fill(1);
    for (let step = 1; step <= 2; step++) await updateGroup(arena, memory, { ...settings, step });
    expect(weight[0]).toBeCloseTo(-0.1 - 0.19, 6);
  });
});

describe("options of optimisers", () => {
  it.each<[string, () => Optimiser, string]>([
    ["learningRate", () => adam({ learningRate: 1 } as object), "adam: expected options among beta1, beta2, epsilon"],
    ["beta1: 2", () => adam({ beta1: 2 }), "adam / beta1: expected a number from 0 to below 1, got 2"],
    ["weightDecay: -1", () => adamw({ weightDecay: -1 }), "adamw / weightDecay: expected a number from 0, got -1"],
    ["weight_decay", () => lamb({ weight_decay: 0 } as object), "got weight_decay; did you mean weightDecay?"],
    ["correction", () => adam({ correction: "exakt" as "exact" }), 'got "exakt"; did you mean exact?'],
    ["momentum: 1", () => sgd({ momentum: 1 }), "sgd / momentum: expected a number from 0 to below 1, got 1"],
    ["nesterov: 1", () => sgd({ nesterov: 1 as never }), "sgd / nesterov: expected true or false, got 1"],
    ["iterations", () => muon(referenceEngine(), { iterations: 2.5 }), "muon / iterations: expected a whole number"],
  ])("%s is refused", (_, make, message) => {
    expect(make).toThrow(message);
  });

  it("that are undefined count as left out", async () => {
    const options: object = { beta1: undefined, weightDecay: undefined };
    expect(await updated(adamw(options))).toEqual(await updated(adamw()));
  });
});
