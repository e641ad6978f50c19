import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { readAlbertConfig } from "./albert-config.ts";

const folder = ownFolder("albert-config");
const google = {
  attention_probs_dropout_prob: 0,
  hidden_act: "gelu",
  hidden_dropout_prob: 0,
  embedding_size: 16,
  hidden_size: 32,
  initializer_range: 0.02,
  intermediate_size: 64,
  max_position_embeddings: 64,
  num_attention_heads: 2,
  num_hidden_layers: 5,
  num_hidden_groups: 1,
  net_structure_type: 0,
  gap_size: 0,
  num_memory_blocks: 0,
  inner_group_num: 1,
  down_scale_factor: 1,
  type_vocab_size: 2,
  vocab_size: 300,
};
const written = (changes: object) => {
  const path = join(folder, "albert_config.json");
  writeFileSync(path, JSON.stringify({ ...google, ...changes }));
  return path;
};

describe("an albert_config.json", () => {
  it("gives the sizes of a new model; Google's gelu is the tanh form", async () => {
    expect(await readAlbertConfig(written({}))).toEqual({
      width: 32,
      heads: 2,
      feedForward: 64,
      embedding: 16,
      activation: "gelu_new",
      positions: 64,
      dropout: 0,
      depth: 5,
      pieces: 300,
    });
    const act = await readAlbertConfig(written({ model_type: "albert_act", act_epsilon: 0.05 }));
    expect([act.activation, act.haltEpsilon]).toEqual(["gelu", 0.05]);
  });

  it("that asks for what is not built is refused by its key", async () => {
    await expect(readAlbertConfig(written({ num_hidden_groups: 2 }))).rejects.toThrow(
      /num_hidden_groups: expected 1, got 2/,
    );
    await expect(readAlbertConfig(written({ attention_probs_dropout_prob: 0.1 }))).rejects.toThrow(
      /attention_probs_dropout_prob: expected 0, got 0.1/,
    );
    await expect(readAlbertConfig(written({ hidden_size: "wide" }))).rejects.toThrow(/hidden_size: expected a number/);
  });

  it("that is no JSON is refused by its line", async () => {
    const path = join(folder, "broken.json");
    writeFileSync(path, JSON.stringify(google, null, 1).replace('"hidden_size": 32,', '"hidden_size": 32'));
    await expect(readAlbertConfig(path)).rejects.toThrow(/broken\.json: line 7: expected JSON, got /);
  });
});
