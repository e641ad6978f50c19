import { expect, it } from "vitest";
import { addDoctor } from "../src/cli/commands/doctor.ts";
import type { Diagnosis } from "../src/tasks/diagnosis.ts";
import { instructionSets } from "../src/tasks/environment.ts";
import { printedBy } from "./command.ts";

const doctor = (...args: string[]) => printedBy(addDoctor, "doctor", ...args);

it("doctor --json prints versions, threads, devices and matrix speed, and nothing else", async () => {
  const found = JSON.parse(await doctor("--json")) as Diagnosis;
  expect(found.versions.layerwise).toMatch(/^\d+\.\d+\.\d+/);
  expect(found.versions.node).toBe(process.version);
  expect(found.versions.onnxruntime).toMatch(/^1\./);
  expect(found.threads.default).toBeGreaterThanOrEqual(1);
  expect(found.threads.default).toBeLessThanOrEqual(found.threads.usable);
  expect(found.devices).toContain("cpu");
  expect(found.training.map(({ device }) => device)).toEqual(found.devices);
  for (const { msPerUpdate, tokensPerSecond } of found.training) {
    expect(msPerUpdate).toBeGreaterThan(0);
    expect((tokensPerSecond * msPerUpdate) / 1000).toBeCloseTo(4 * 32);
  }
  const counts = new Set([1, found.threads.default]);
  expect(found.matrixSpeed.map(({ threads }) => threads)).toEqual([...counts].flatMap((each) => [each, each]));
  // Slower than any machine that could train, faster than none.
  for (const { gflops } of found.matrixSpeed) expect(gflops).toBeGreaterThan(0.1);
});

it("doctor prints one fact a line and a table of products", async () => {
  const printed = await doctor();
  for (const fact of ["layerwise ", "Node ", "ONNX Runtime ", "processor ", "instructions ", "cores ", "devices "]) {
    expect(printed).toMatch(new RegExp(`^${fact}`, "m"));
  }
  expect(printed).toMatch(/^a small model on +ms per update +tokens per second$/m);
  expect(printed).toMatch(/^cpu +\d+\.\d +\d/m);
  expect(printed).toMatch(/^\[2048,256\] · \[256,1024\] +1 +\d/m);
  expect(printed).toMatch(/^\[1024,512\] · \[512,2048\] +1 +\d/m);
});

it("the instruction set is read from the processor's flags", () => {
  expect(instructionSets("processor : 0\nflags\t\t: fpu sse2 avx2 avx512f fma\n")).toEqual(["AVX-512", "AVX2", "FMA"]);
  expect(instructionSets("Features : fp asimd\n")).toEqual(["NEON"]);
  expect(instructionSets("")).toEqual([]);
});
