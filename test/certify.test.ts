import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readSafetensors, writeSafetensors } from "../src/format/safetensors.ts";
import { layerwise, ownFolder } from "./command.ts";

const golden = "../shared/golden";
const folder = ownFolder("certify");

const certify = (...args: string[]) => layerwise("certify", ...args);

describe("layerwise certify", () => {
  it("passes the fixtures that ship with the project", () => {
    const { status, stdout } = certify("--json");
    const report = JSON.parse(stdout);
    expect([status, report.failed, report.notCovered]).toEqual([0, 0, 0]);
    expect(report.passed).toBe(132);
    expect(Object.keys(report.cases[0])).toEqual(["folder", "case", "system", "status", "worst"]);
  });

  it.runIf(existsSync(golden))("passes every golden case whose system is built", () => {
    const { status, stdout } = certify(golden, "--json");
    const report = JSON.parse(stdout);
    const failed = report.cases.filter((each: { status: string }) => each.status === "failed");
    expect([status, failed]).toEqual([0, []]);
    expect(report.passed).toBeGreaterThanOrEqual(8);
    expect(report.passed + report.notCovered).toBe(report.cases.length);
  });

  it("fails with exit code 1 on a value that is off by 1 in 10,000, and names the tensor", () => {
    const source = "fixtures/language-model/two-layers-relu";
    const { tensors } = readSafetensors(readFileSync(`${source}.safetensors`), source);
    const gradient = tensors.get("grad.norm.bias")!.data as Float32Array;
    const largest = Math.max(...gradient.map(Math.abs));
    gradient[3]! += 1e-4 * largest;
    writeFileSync(join(folder, "bent.safetensors"), writeSafetensors(tensors));
    writeFileSync(join(folder, "bent.json"), readFileSync(`${source}.json`));
    const { status, stdout } = certify(folder, "--json");
    expect(status).toBe(1);
    expect(JSON.parse(stdout).cases[0].worst.tensor).toBe("grad.norm.bias");
  });

  it("fails a case whose numbers are damaged", () => {
    writeFileSync(join(folder, "bent.safetensors"), "not tensors");
    const { status, stdout } = certify(folder);
    expect(status).toBe(1);
    expect(stdout).toContain("0 passed, 1 failed, 0 not covered");
  });

  it("names what a case lacks", () => {
    const source = "fixtures/language-model/two-layers-relu";
    const { tensors } = readSafetensors(readFileSync(`${source}.safetensors`), source);
    tensors.delete("output.losses");
    writeFileSync(join(folder, "bent.safetensors"), writeSafetensors(tensors));
    writeFileSync(join(folder, "bent.json"), readFileSync(`${source}.json`));
    const { status, stdout } = certify(folder);
    expect(status).toBe(1);
    expect(stdout).toMatch(/bent.*expected .*output\.losses/s);
    expect(stdout).not.toContain("TypeError");
  });

  it("ends with exit code 2 on a folder that cannot be read or holds no case", () => {
    expect(certify(join(folder, "absent"))).toMatchObject({ status: 2, stdout: "" });
    expect(certify("src/base").stderr).toContain("expected golden cases (<case>.json) under src/base, got none");
  });
});
