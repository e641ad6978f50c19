import { describe, expect, it } from "vitest";
import { ortEngine } from "../../engine/ort.ts";
import { describedAlbert } from "../../model/albert/description.ts";
import { initialise } from "../../nn/index.ts";
import { openTokenizer } from "../../text/files/tokenizer.ts";
import { classification } from "../../text/labelled/text-task.ts";
import { curvePoints, curveThresholds } from "./depth-curve.ts";

const halting = { biasInitial: -3 };
const sizes = { vocabulary: 400, embedding: 16, width: 64, heads: 2, depth: 12, length: 64 };
const description = { model: { ...sizes, halting }, heads: { classification: { labels: 2 } } };
const described = describedAlbert(description);
const weights = initialise(described.parameters, 1);
const texts = Array.from({ length: 16 }, (_, i) => ({
  texts: [`the man went to the house and the day was ${i % 2 ? "good" : "bad"} `.repeat(3)] as const,
  label: i % 2,
}));

describe("figures against depth", () => {
  it("save the time of what is skipped", { timeout: 60_000 }, async () => {
    const tokenizer = await openTokenizer("fixtures/runs/data/tokenizer.model");
    const engine = await ortEngine({ threads: 1 });
    const tuned = { engine, description, described, weights, tokenizer, length: 64 };
    const task = classification({ labels: ["bad", "good"] });
    const [full, early] = await curvePoints(tuned, task, texts, [0.01], { batch: 8 });
    expect([full!.depth, early!.depth]).toEqual([12, 1]);
    // A twelfth of the layers; the margin is for a machine with other work.
    expect(early!.timeRatio).toBeLessThan(0.6);
  });

  it("are taken at the threshold of training and below it, and only where tokens halt", () => {
    expect(curveThresholds({ ...sizes, halting: { epsilon: 0.2 } }, undefined)).toEqual([0.8, 0.7, 0.5, 0.3]);
    expect(curveThresholds({ ...sizes, halting }, [0.5, 0.9, 0.5])).toEqual([0.9, 0.5]);
    expect(() => curveThresholds({ ...sizes, halting }, [])).toThrow("at least one threshold");
    expect(() => curveThresholds({ ...sizes, halting }, [1.5])).toThrow("curve / threshold");
    expect(() => curveThresholds(sizes, undefined)).toThrow("a model whose tokens halt");
  });
});
