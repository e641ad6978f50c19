import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { layerwise, ownFolder } from "../../../test/command.ts";
import { readSafetensors } from "../../format/safetensors.ts";
import { ownName } from "../../model/albert/weights.ts";
import { stateDict } from "../../model/state-dict.ts";
import { summarise } from "../../runs/summary.ts";
import { Run } from "../../tasks/run.ts";

const folder = ownFolder("import");

const imported = (...args: string[]) => layerwise("import", ...args);

/** What the original's `load_weights_in_pt.ipynb` reads: Keras names the layer norms, and those of the layer stand outside bert. */
const notebookFiles: Record<string, string> = {
  ...Object.fromEntries(
    [
      "embeddings-word_embeddings",
      "embeddings-token_type_embeddings",
      "embeddings-position_embeddings",
      ...["query", "key", "value"].flatMap((name) => kernelAndBias(`encoder-transformer-attention_1-self-${name}`)),
      ...kernelAndBias("encoder-embedding_hidden_mapping_in"),
      ...kernelAndBias("encoder-transformer-attention_1-output-dense"),
      ...kernelAndBias("encoder-transformer-halting-dense"),
      ...kernelAndBias("encoder-transformer-ffn_1-intermediate-dense"),
      ...kernelAndBias("encoder-transformer-ffn_1-intermediate-output-dense"),
      ...kernelAndBias("pooler-dense"),
    ].map((name) => [`bert/${name.replaceAll("-", "/")}.npy`, `bert-${name}.npy`]),
  ),
  "bert/embeddings/LayerNorm/gamma.npy": "bert-embeddings-layer_normalization-gamma.npy",
  "bert/embeddings/LayerNorm/beta.npy": "bert-embeddings-layer_normalization-beta.npy",
  "bert/encoder/transformer/LayerNorm/gamma.npy": "transformer-layer_normalization-gamma.npy",
  "bert/encoder/transformer/LayerNorm/beta.npy": "transformer-layer_normalization-beta.npy",
  "bert/encoder/transformer/LayerNorm_1/gamma.npy": "transformer-layer_normalization_1-gamma.npy",
  "bert/encoder/transformer/LayerNorm_1/beta.npy": "transformer-layer_normalization_1-beta.npy",
};

function kernelAndBias(layer: string): string[] {
  return [`${layer}-kernel`, `${layer}-bias`];
}

const stored = async (out: string) => {
  const { parameters, weights } = await Run.open(out, "imported");
  return stateDict(parameters, weights);
};

describe("layerwise import", () => {
  it("reads a PyTorch file and TensorFlow's variables as the same run", async () => {
    const [bin, npy] = [join(folder, "bin"), join(folder, "npy")];
    const first = imported("fixtures/albert/act/pytorch_model.bin", "--out", bin, "--json");
    expect(first.stderr).toContain("if so, set --transpose-pooler");
    expect(first.stderr).toMatch(/penalty on depth \(τ\), so it is 0 in later training: set --ponder;/);
    expect(JSON.parse(first.stdout)).toMatchObject({ tensors: 27, adaptive: true, depth: 3, heads: [] });
    expect(imported("fixtures/albert/act-npy", "--out", npy).status).toBe(0);
    expect(await stored(npy)).toEqual(await stored(bin));
    const { model, tokenizer, step } = await Run.open(bin, "imported");
    expect(model.options.halting).toMatchObject({ haltAtCap: false, ponderReduce: "sum", biasInitial: 0 });
    expect([tokenizer, step]).toEqual([undefined, 0]);
    expect(await summarise(bin)).toMatchObject({ status: "finished", step: 0, config: { task: "albert" } });
  });

  it("reads .npy files under the names that the original's notebooks write, and keeps a penalty", async () => {
    const [flat, out] = [join(folder, "flat"), join(folder, "flat-run")];
    mkdirSync(flat);
    const source = "fixtures/albert/act-npy";
    copyFileSync(join(source, "config.json"), join(flat, "config.json"));
    for (const [ours, notebook] of Object.entries(notebookFiles))
      copyFileSync(join(source, ours), join(flat, notebook));
    const given = imported(flat, "--ponder", "0.0005", "--out", out);
    expect([given.status, given.stderr.includes("penalty")]).toEqual([0, false]);
    expect(await stored(out)).toEqual(await stored(join(folder, "npy")));
    expect((await Run.open(out, "imported")).model.options.halting).toMatchObject({ ponder: 0.0005 });
    const fixed = imported("fixtures/albert/stock", "--ponder", "0.001", "--out", join(folder, "fixed"));
    expect([fixed.status, fixed.stderr]).toEqual([
      1,
      expect.stringMatching(/tokens halt for --ponder, got fixed depth/),
    ]);
  });

  it("keeps the numbers of a stock ALBERT with its head", async () => {
    const out = join(folder, "stock");
    const { status, stdout } = imported("fixtures/albert/stock", "--out", out, "--json");
    expect([status, JSON.parse(stdout).heads]).toEqual([0, ["maskedLanguage"]]);
    const source = readSafetensors(readFileSync("fixtures/albert/stock/model.safetensors"), "stock").tensors;
    const weights = await stored(out);
    expect(weights.size).toBe(source.size - 2);
    for (const [name, { data }] of source) {
      const own = ownName(name);
      if (own !== undefined) expect(weights.get(own)!.data).toEqual(data);
    }
  });

  it("refuses a file that would run code, and writes nothing", () => {
    const out = join(folder, "malicious");
    const config = ["--config", "fixtures/albert/act/config.json"];
    const { status, stdout, stderr } = imported("fixtures/albert/malicious.bin", ...config, "--out", out);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("got posix.system");
    expect(existsSync(out)).toBe(false);
  });

  it("ends with exit code 2 when there is nothing to import", () => {
    expect(imported("absent.bin", "--out", join(folder, "x"))).toMatchObject({ status: 2, stdout: "" });
    const given = imported("fixtures/albert/act", "--activation", "none", "--out", join(folder, "x"));
    expect(given.stderr).toMatch(/^layerwise: --activation: expected one of relu/);
    expect(imported("src/base", "--out", join(folder, "x")).stderr).toContain("src/base: expected .npy files");
  });
});
