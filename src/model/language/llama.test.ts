import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { difference, runOnce } from "../../engine/engine.contract.ts";
import { ortEngine } from "../../engine/ort.ts";
import { input } from "../../graph/index.ts";
import type { NamedTensor } from "../state-dict.ts";
import { importLlama } from "./llama.ts";

interface Case {
  readonly name: string;
  readonly config: Record<string, unknown>;
  readonly tensors: Record<string, NamedTensor>;
  readonly ids: number[][];
  readonly logits: number[];
}
/** Made by fixtures/make_llama.py with Hugging Face's own models. */
const { cases } = JSON.parse(readFileSync(new URL("../../../fixtures/llama/llama.json", import.meta.url), "utf8")) as {
  readonly cases: readonly Case[];
};
const tensorsOf = ({ tensors }: Case) => new Map(Object.entries(tensors));

describe("models of Llama's shape", () => {
  it.each(cases)("give the logits of the original: $name", async (each) => {
    const { model, weights } = importLlama(tensorsOf(each), each.config);
    const [batch, length] = [each.ids.length, each.ids[0]!.length];
    const logits = model.logits(input("ids", [batch, length], "int"));
    const values = Object.fromEntries([...weights].map(([tensor, data]) => [tensor.attributes.name, data]));
    const found = await runOnce(
      await ortEngine({ threads: 1 }),
      { logits },
      { ...values, ids: Int32Array.from(each.ids.flat()) },
    );
    expect(difference(found.logits!.data, each.logits)).toBeLessThan(1e-5);
  });

  it("name a tensor that is missing, one too many, and a feature that is not there", () => {
    const [first] = cases as [Case];
    const without = new Map([...tensorsOf(first)].filter(([name]) => !name.includes("1.mlp.up")));
    expect(() => importLlama(without, first.config)).toThrow(
      "model.layers.1.mlp.up_proj.weight: expected a tensor, got nothing",
    );
    expect(() => importLlama(tensorsOf(first), { ...first.config, num_hidden_layers: 1 })).toThrow(
      /got model\.layers\.1\./,
    );
    const scaled = { ...first.config, rope_parameters: { rope_theta: 500, rope_type: "yarn" } };
    expect(() => importLlama(tensorsOf(first), scaled)).toThrow(/rope_scaling: .*"yarn"/);
    expect(() => importLlama(tensorsOf(first), { ...first.config, hidden_size: "16" })).toThrow(
      "hidden_size: expected a number",
    );
  });
});
