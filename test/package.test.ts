import { type ExecFileException, execFile, spawn } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ownFolder } from "./command.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const main = join(root, "bin", "layerwise.js");
const folder = ownFolder("package");

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end; what npm was told about this repository does not reach the other folder. */
function run(command: string, args: readonly string[], cwd = root): Promise<Ended> {
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_(config|package|lifecycle)/i.test(name));
  const env = { ...Object.fromEntries(kept), ONNXRUNTIME_NODE_INSTALL: "skip" };
  return new Promise((resolve) => {
    execFile(command, [...args], { cwd, env, timeout: 120_000 }, (error: ExecFileException | null, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
    });
  });
}

beforeAll(async () => {
  if (!existsSync(join(root, "dist"))) await run("npm", ["run", "build"]);
});

describe("the entry points of the built package", () => {
  const { exports: entries } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const names = Object.keys(entries).filter((name) => name !== "./package.json");

  it("resolve by name, each to something, with types", async () => {
    const code = `const count = async (name) => Object.keys(await import("layerwise" + name.slice(1))).length;
      console.log(JSON.stringify(await Promise.all(${JSON.stringify(names)}.map(count))));`;
    const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "-e", code]);
    const counts: number[] = JSON.parse(stdout || "[]");
    expect(counts, stderr).toHaveLength(names.length);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    for (const name of names) expect(existsSync(join(root, entries[name].types)), name).toBe(true);
  });
});

let installedHere = false;

describe("the packed package", () => {
  it("installs in an empty folder and runs there", { timeout: 180_000 }, async ({ skip }) => {
    const packed = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder]);
    expect(packed.code, packed.stderr).toBe(0);
    const [{ filename, files }] = JSON.parse(packed.stdout);
    const paths: string[] = files.map(({ path }: { path: string }) => path);
    checkContents(paths);

    const install = ["install", join(folder, filename), "--prefer-offline", "--no-audit", "--no-fund"];
    await run("npm", ["init", "--yes"], folder);
    const installed = await run("npm", install, folder);
    if (
      /ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENOTCACHED|E40\d|network/.test(installed.stderr) &&
      installed.code
    ) {
      skip("npm reaches neither a registry nor a cache here");
    }
    expect(installed.code, installed.stderr).toBe(0);
    installedHere = true;

    const help = await run("npx", ["layerwise", "--help"], folder);
    expect(help.stderr).not.toMatch(/\n\s+at /);
    expect(help.stdout).toMatch(/^Usage: layerwise/);
    expect(help.code).toBe(0);
    const bin = join(folder, "node_modules", "layerwise", "bin", "layerwise.js");
    expect(statSync(bin).mode & 0o111).not.toBe(0);

    // The runtime loads too: a command that runs programs, on the cases that are shipped.
    const certified = await run("npx", ["layerwise", "certify", "--json"], folder);
    expect(JSON.parse(certified.stdout)).toMatchObject({ passed: 33, failed: 0, notCovered: 0 });

    // Importing it loads no runtime.
    const loaded = await run(process.execPath, ["--input-type=module", "-e", LOADED], folder);
    expect(JSON.parse(loaded.stdout)).toEqual({ runtime: false, version: "0.1.0", text: "function" });
  });
});

/** The examples that the package ships, as a TypeScript user compiles and runs them beside it. */
describe("an example beside the package", () => {
  const names = readdirSync(join(root, "examples")).filter((name) => name.endsWith(".ts"));
  const walks = readdirSync(join(root, "examples", "walks"));
  beforeEach(({ skip }) => skip(!installedHere, "the package could not be installed"));
  beforeAll(async () => {
    if (!installedHere) return;
    const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ ...about, type: "module" }));
    cpSync(join(folder, "node_modules/layerwise/examples"), folder, { recursive: true });
    const sources = [...names, ...walks.map((name) => join("walks", name))];
    const strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--ignoreConfig"];
    const target = ["--module", "nodenext", "--target", "es2023", "--lib", "esnext,dom"];
    const types = ["--typeRoots", join(root, "node_modules", "@types"), "--types", "node"];
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    const compiled = await run(process.execPath, [tsc, ...sources, ...strict, ...target, ...types], folder);
    expect(compiled.code, compiled.stdout).toBe(0);
  }, 60_000);

  /** What an example prints. */
  const printed = async (name: string, ...args: string[]) => {
    const { code, stdout, stderr } = await run(process.execPath, [`${name}.js`, ...args], folder);
    expect(code, stderr).toBe(0);
    return stdout;
  };
  /** The numbers after a word. */
  const numbers = (text: string, word: string) =>
    [...text.matchAll(new RegExp(`${word} (\\d[\\d.]*)`, "g"))].map(([, digits]) => Number(digits));

  it("has at most 25 lines where it shows one thing", () => {
    const lengths = names.map((name) => [
      name,
      readFileSync(join(root, "examples", name), "utf8").split("\n").length - 1,
    ]);
    expect(lengths.filter(([name, lines]) => name !== "compose.ts" && Number(lines) > 25)).toEqual([]);
  });

  it("trains a shared encoder with a head of its own on its own tensors", async () => {
    expect(numbers(await printed("own-tensors"), "accuracy")[0]).toBeGreaterThan(0.9);
  });

  it("trains, generates from, reports and exports a block and a policy of its own", async () => {
    const text = await printed("own-depth");
    expect(text).toMatch(/\w+ \w+[\s\S]+executedDepth: 2/);
    expect(statSync(join(folder, "own-depth.onnx")).size).toBeGreaterThan(100_000);
  });

  it("searches with π in its events, stops, resumes, retrains and generates", async () => {
    const text = await printed("search");
    expect(
      text.match(/^step (50|100), π of attention\/feed-forward\/identity:( +\d\.\d\d(\/\d\.\d\d){2}){6}$/gm),
    ).toHaveLength(2);
    expect(text).toMatch(/^stopped at 100, finished at 200: found [sfi()x\d]+$/m);
    const [found, baseline] = /: \S+ ([\d.]+), baseline \(sf\)x3 ([\d.]+)$/m.exec(text)!.slice(1).map(Number);
    for (const perplexity of [found, baseline]) expect(perplexity).toBeLessThan(500); // of 1,000 pieces
    expect(text.split("\n").at(-1)).toMatch(/ \w+/);
  });

  it("pre-trains, shows the depth of a sentence, and fine-tunes on labels of its own", async () => {
    const text = await printed("adapt");
    expect(text).toMatch(/^\[CLS\] [1-4]( {2}\S+ [1-4])+ {2}\[SEP\] [1-4]$/m);
    expect(Math.max(...numbers(text, "accuracy"))).toBeGreaterThan(0.6); // half of the lines are of either book
    expect(text).toMatch(/^(Alice|Holmes), \{"Alice":[\d.e-]+,"Holmes":[\d.e-]+\}$/m);
  });

  it("opens, evaluates and resumes a run of the command to the same bits", async () => {
    const flags = ["--preset", "tiny", "--steps", "20", "--checkpoint-every", "10", "--threads", "1"];
    const whole = await run("npx", ["layerwise", "train", ...flags, "--out", "whole"], folder);
    expect(whole.code, whole.stderr).toBe(0);
    cpSync(join(folder, "whole"), join(folder, "run"), { recursive: true });
    rmSync(join(folder, "run", "checkpoints", "step-00000020"), { recursive: true }); // as a kill would have left it
    const [, before, after] = /^finished: steps 10 → 20, loss (\S+) → (\S+)$/m.exec(await printed("resume"))!;
    expect(Number(after)).toBeLessThan(Number(before));
    const last = (name: string) =>
      readFileSync(join(folder, name, "checkpoints", "step-00000020", "weights.safetensors"));
    expect(last("run").equals(last("whole"))).toBe(true);
    expect(existsSync(join(folder, "exported", "model.onnx"))).toBe(true);
  });

  it("runs three layers six times, halves the parameters and saves no arithmetic", async () => {
    const text = await printed("sharing");
    expect(text).toContain("ran layers 0 1 2 2 1 0: 8 × 100 × 64 → 8 × 100 × 64");
    expect(text).toMatch(/^shared: 149,952 parameters, (\d+) MFLOPs\nunshared: 299,904 parameters, \1 MFLOPs$/m);
  });

  it("trains a small language model that learns", async () => {
    const [first, , last] = numbers(await printed("train"), "perplexity");
    expect(last).toBeLessThan(first! * 0.9);
  });

  it("walks through sharing: the same work with less than half of the parameters", async () => {
    const text = await printed("walks/share", "6");
    expect(text).toMatch(
      /^shared +326,016 parameters, 6 layers deep, (\S+) MFLOPs.*\nunshared +773,376 parameters, 6 layers deep, \1 /m,
    );
    const losses = numbers(text, "valid loss");
    expect(losses).toHaveLength(6);
    expect(losses[2]).toBeLessThan(losses[0]!);
    expect(text).toMatch(/What the shared one writes\n.*\w+ \w+/);
  });

  it("walks through a search: π at four evaluations, the found network beside the baseline", async () => {
    const text = await printed("walks/search", "8");
    expect(text.match(/^step \d, τ \d\.\d\d, valid perplexity [\d.]+$/gm)).toHaveLength(4);
    expect(text.match(/^feed-forward \|/gm)).toHaveLength(4);
    const [, found] = /^found ([sfi()x\d]+)$/m.exec(text)!;
    const rows = [...text.matchAll(/^(\S+) +[\d,]+ parameters, [\d.]+ ms, perplexity [\d.]+$/gm)].map(
      ([, pattern]) => pattern,
    );
    expect(rows).toEqual([found, "(sf)x3"]);
  });

  it("walks through adaptive depth: the penalty makes tokens stop earlier", async () => {
    const text = await printed("walks/adapt", "12");
    const [before, after] = numbers(text, "mean depth");
    expect(before).toBe(6);
    expect(after).toBeLessThan(6);
    expect(text).toMatch(/^alice[₁-₆] was[₁-₆] /m);
    expect(text).toMatch(/step 3: loss [\d.]+, penalty at 0\.00[\s\S]+step 12: loss [\d.]+, penalty at 1\.00/);
  });

  it("prints a gradient's graph and its values", async () => {
    const text = await printed("gradients");
    expect(text).toContain("= softmax %");
    expect(text).toContain("loss 1.4076, gradient 0.0900 -0.7553 0.6652"); // softmax of 1, 2, 3 without the label's place
  });

  it("shares, searches and halts in one model that learns", async () => {
    const text = await printed("compose");
    expect(text.match(/π of attention/g)).toHaveLength(2);
    const [depth] = numbers(text, "mean depth");
    expect(depth).toBeGreaterThan(1);
    expect(depth).toBeLessThan(6);
    const [, first, last] = /loss ([\d.]+) → ([\d.]+)/.exec(text)!.map(Number);
    expect(last).toBeLessThan(first! - 0.5);
  });
});

const LOADED = `
  import { createRequire } from "node:module";
  const text = typeof (await import("layerwise/text")).textCorpus;
  await import("layerwise");
  const runtime = process.report.getReport().sharedObjects.some((file) => file.includes("onnxruntime"));
  const { version } = createRequire(process.cwd() + "/x.js")("layerwise/package.json");
  console.log(JSON.stringify({ runtime, version, text }));`;

/** What a user needs, nothing that only serves this repository. */
function checkContents(paths: readonly string[]): void {
  const needed = [
    "CHANGELOG.md",
    "README.md",
    "LICENSE",
    "corpus/books/train.txt",
    "docs/architecture.md",
    "fonts/Inter-Regular.ttf",
    "fonts/LICENSE",
  ];
  expect(paths).toEqual(
    expect.arrayContaining([
      ...needed,
      "bin/layerwise.js",
      "dist/cli/main.js",
      "dist/browser.js",
      "examples/train.ts",
      "examples/walks/search.ts",
    ]),
  );
  expect(paths.filter((path) => /\.(test|contract|map)\b|^(src|test|bench)\//.test(path))).toEqual([]);
  const fixtures = paths.filter((path) => path.startsWith("fixtures/"));
  expect(fixtures.filter((path) => !/^fixtures\/[\w-]+\/[\w-]+\.(json|safetensors)$/.test(path))).toEqual([]);
  expect([...new Set(fixtures.map((path) => path.split("/")[1]))]).toEqual([
    "depth",
    "language-model",
    "optimisers",
    "par-transformer-xl",
    "parameter-sharing",
  ]);
}

describe("the command", () => {
  it("starts with a line that names its interpreter", () => {
    expect(readFileSync(main, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
  });

  it("says nothing when nobody reads on", async () => {
    const command = `"${process.execPath}" "${main}" --help | head -1`;
    const { stdout, stderr } = await run("bash", ["-o", "pipefail", "-c", command]);
    expect(stdout.trim()).toMatch(/^Usage: layerwise/);
    expect(stderr).toBe("");
  });

  it("writes into a closed pipe without a stack trace", async () => {
    const child = spawn(process.execPath, [main, "doctor"], { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.destroy();
    const { stderr, code } = await ended(child);
    expect(stderr).toBe("");
    expect(code).toBe(141); // what it had to say was not heard
  });

  it("ends quietly on Ctrl-C", async () => {
    const child = spawn(process.execPath, [main, "doctor"], { stdio: ["ignore", "pipe", "pipe"] });
    setTimeout(() => child.kill("SIGINT"), 800);
    const { stderr, code, signal } = await ended(child);
    expect(stderr).toBe("");
    expect(signal === "SIGINT" || code === 130).toBe(true);
  });
});

function ended(child: ReturnType<typeof spawn>) {
  let stderr = "";
  child.stderr?.on("data", (chunk) => {
    stderr += String(chunk);
  });
  return new Promise<{ stderr: string; code: number | null; signal: string | null }>((resolve) => {
    child.on("close", (code, signal) => resolve({ stderr, code, signal }));
  });
}
