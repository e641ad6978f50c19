import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
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

const stored = async (out: string) => {
  const { parameters, weights } = await Run.open(out, "imported");
  return stateDict(parameters, weights);
};

describe("layerwise import", () => {
  it("reads a PyTorch file and TensorFlow's variables as the same run", async () => {
    const [bin, npy] = [join(folder, "bin"), join(folder, "npy")];
    const first = imported("fixtures/albert/act/pytorch_model.bin", "--out", bin, "--json");
    expect(first.stderr).toContain("if so, set --transpose-pooler");
    expect(JSON.parse(first.stdout)).toMatchObject({ tensors: 27, adaptive: true, depth: 3, heads: [] });
    expect(imported("fixtures/albert/act-npy", "--out", npy).status).toBe(0);
    expect(await stored(npy)).toEqual(await stored(bin));
    const { model, tokenizer, step } = await Run.open(bin, "imported");
    expect(model.options.halting).toMatchObject({ haltAtCap: false, ponderReduce: "sum", biasInitial: 0 });
    expect([tokenizer, step]).toEqual([undefined, 0]);
    expect(await summarise(bin)).toMatchObject({ status: "finished", step: 0, config: { task: "albert" } });
  });

  it("reads .npy files under the flat names that the original's notebooks write, and keeps a penalty", async () => {
    const [flat, out] = [join(folder, "flat"), join(folder, "flat-run")];
    mkdirSync(flat);
    const source = "fixtures/albert/act-npy";
    for (const file of readdirSync(source, { recursive: true, encoding: "utf8" })) {
      if (!statSync(join(source, file)).isDirectory())
        copyFileSync(join(source, file), join(flat, file.replaceAll("/", "-")));
    }
    expect(readdirSync(flat)).toContain("bert-encoder-transformer-attention_1-self-query-kernel.npy");
    expect(imported(flat, "--ponder", "0.0005", "--out", out).status).toBe(0);
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
