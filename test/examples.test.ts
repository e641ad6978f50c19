import { describe, expect, it } from "vitest";
import { example as adapt } from "../examples/adapt.ts";
import { example as compose } from "../examples/compose.ts";
import { example as gradients } from "../examples/gradients.ts";
import { example as search } from "../examples/search.ts";
import { example as sharing } from "../examples/sharing.ts";
import { example as train } from "../examples/train.ts";

describe("examples", () => {
  it("adapt.ts pre-trains, shows depths between one and four, and learns to tell two books apart", async () => {
    const { pre, tokens, tuned, answers, accuracy } = await adapt(60);
    expect(pre.evaluation!.scalars!.mlm_loss).toBeLessThan(Math.log(600) - 0.5); // that of guessing
    expect([tokens[0]!.piece, tokens.at(-1)!.piece]).toEqual(["[CLS]", "[SEP]"]);
    for (const { depth } of [...tokens, ...answers[0]!.depths!]) {
      expect(depth).toBeGreaterThanOrEqual(1);
      expect(depth).toBeLessThanOrEqual(4);
    }
    // Half of the sentences are from either book.
    expect(Math.max(...tuned.epochs.map(({ figures }) => figures.accuracy!))).toBeGreaterThan(0.8);
    expect(accuracy).toBeGreaterThan(0.75);
    const { Alice, Holmes } = answers[0]!.scores;
    expect(Alice! + Holmes!).toBeCloseTo(1, 6);
  });

  it("gradients.ts prints the gradient's graph, and the sum of a softmax does not change", async () => {
    const { printed, slope } = await gradients();
    expect(printed).toContain("softmax");
    for (const each of slope) expect(Math.abs(each)).toBeLessThan(1e-5);
  });

  it("sharing.ts runs three layers six times, stores them once, and saves no arithmetic", async () => {
    const { trace, shape, bytes, savedFlops } = await sharing();
    expect([trace, shape]).toEqual([
      [0, 1, 2, 2, 1, 0],
      [8, 100, 64],
    ]);
    // 3 × (4·64² + 2·64·256 + biases and norms) numbers of four bytes, and a header.
    expect(bytes).toBeLessThan(4 * 3 * 52_000);
    expect(savedFlops).toBe(0);
  });

  it("train.ts learns", async () => {
    const { first, last } = await train(60);
    expect(first).toBeGreaterThan(6);
    expect(last).toBeLessThan(first - 0.7);
  });

  it("compose.ts shares, searches and halts in one model, and learns", async () => {
    const { plan, probabilities, meanDepth, first, last } = await compose();
    expect(plan).toContain("0");
    for (const shares of probabilities.flat()) {
      expect(shares.reduce((a, b) => a + b)).toBeCloseTo(1, 6);
      expect(Math.max(...shares) - Math.min(...shares)).toBeGreaterThan(0.002); // it was 0
    }
    expect(meanDepth).toBeGreaterThan(1);
    expect(meanDepth).toBeLessThan(6);
    expect(last).toBeLessThan(first - 0.5);
  });

  it("search.ts is stopped and resumed, finds a network, retrains it beside the baseline, and continues a text", async () => {
    const { probabilities, stopped, found, network, baseline, text } = await search(30);
    expect(probabilities.map((shares) => shares.length)).toEqual([3, 3, 3, 3]);
    expect([stopped.reason, stopped.steps, found.reason, found.steps]).toEqual(["stopped", 15, "finished", 30]);
    expect([network.pattern, baseline.pattern]).toEqual([found.pattern, "(sf)x2"]);
    // Of 600 pieces, after thirty updates.
    expect(Math.max(network.perplexity, baseline.perplexity)).toBeLessThan(450);
    expect(text.startsWith("it was")).toBe(true);
    expect(text.length).toBeGreaterThan(12);
  });
});
