import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readSafetensors } from "../../format/safetensors.ts";

const folder = mkdtempSync(join(tmpdir(), "layerwise-import-"));
afterAll(() => rmSync(folder, { recursive: true }));

function layerwise(...args: string[]) {
  const node = [process.execPath, ["--import", "tsx", "src/cli/main.ts", "import", ...args]] as const;
  const { status, stdout, stderr } = spawnSync(...node);
  return { status, stdout: String(stdout), stderr: String(stderr) };
}

const tensorsOf = (out: string) => readSafetensors(readFileSync(join(out, "model.safetensors")), out).tensors;

describe("layerwise import", () => {
  it("reads a PyTorch file and TensorFlow's variables as the same weights", () => {
    const [bin, npy] = [join(folder, "bin"), join(folder, "npy")];
    const first = layerwise("fixtures/albert/act/pytorch_model.bin", "--out", bin, "--json");
    expect(first.stderr).toContain("--transpose-pooler");
    expect(JSON.parse(first.stdout)).toMatchObject({ tensors: 27, adaptive: true, depth: 3, heads: [] });
    expect(layerwise("fixtures/albert/act-npy", "--out", npy).status).toBe(0);
    expect(tensorsOf(npy)).toEqual(tensorsOf(bin));
    expect([...tensorsOf(bin).keys()]).toContain("encoder.albert_layer.act.dense.weight");
    expect(JSON.parse(readFileSync(join(bin, "config.json"), "utf8")).model_type).toBe("albert_act");
  });

  it("keeps the names and numbers of a stock ALBERT with its head", () => {
    const out = join(folder, "stock");
    const { status, stdout } = layerwise("fixtures/albert/stock", "--out", out, "--json");
    expect([status, JSON.parse(stdout).heads]).toEqual([0, ["predictions"]]);
    const source = readSafetensors(readFileSync("fixtures/albert/stock/model.safetensors"), "stock").tensors;
    for (const [name, { data }] of tensorsOf(out)) expect(data).toEqual(source.get(name)!.data);
    expect(tensorsOf(out).size).toBe(source.size - 2);
  });

  it("refuses a file that would run code, and writes nothing", () => {
    const out = join(folder, "malicious");
    const config = ["--config", "fixtures/albert/act/config.json"];
    const { status, stdout, stderr } = layerwise("fixtures/albert/malicious.bin", ...config, "--out", out);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("got posix.system");
    expect(() => tensorsOf(out)).toThrow("ENOENT");
  });

  it("ends with exit code 2 when there is nothing to import", () => {
    expect(layerwise("absent.bin", "--out", join(folder, "x"))).toMatchObject({ status: 2, stdout: "" });
    expect(layerwise("src/base", "--out", join(folder, "x")).stderr).toContain("src/base: expected .npy files");
  });
});
