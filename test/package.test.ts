import { type ExecFileException, execFile, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const main = join(root, "dist", "cli", "main.js");
const folder = mkdtempSync(join(tmpdir(), "layerwise-package-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

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
  if (!existsSync(main)) await run("npm", ["run", "build"]);
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
    const bin = join(folder, "node_modules", "layerwise", "dist", "cli", "main.js");
    expect(statSync(bin).mode & 0o111).not.toBe(0);

    // The runtime loads too: a command that runs programs, on the cases that are shipped.
    const certified = await run("npx", ["layerwise", "certify", "--json"], folder);
    expect(JSON.parse(certified.stdout)).toMatchObject({ passed: 19, failed: 0, notCovered: 0 });

    // Importing it loads no runtime.
    const loaded = await run(process.execPath, ["--input-type=module", "-e", LOADED], folder);
    expect(JSON.parse(loaded.stdout)).toEqual({ runtime: false, version: "0.1.0", text: "function" });
  });
});

/** Programs of test/programs, as a TypeScript user compiles and runs them beside the package. */
describe("a program beside the package", () => {
  const program = async (name: string) => {
    const source = readFileSync(join(root, "test", "programs", `${name}.ts`), "utf8");
    writeFileSync(join(folder, `${name}.ts`), source);
    const types = join(root, "node_modules", "@types");
    const strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"];
    const target = ["--module", "nodenext", "--target", "es2023", "--lib", "esnext,dom"];
    const tsc = [join(root, "node_modules", "typescript", "bin", "tsc"), `${name}.ts`, "--ignoreConfig"];
    const compiled = await run(
      process.execPath,
      [...tsc, ...strict, ...target, "--typeRoots", types, "--types", "node"],
      folder,
    );
    expect(compiled.code, compiled.stdout).toBe(0);
    const { code, stdout, stderr } = await run(process.execPath, [`${name}.js`], folder);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout.trim().split("\n").at(-1)!);
  };
  beforeEach(({ skip }) => skip(!installedHere, "the package could not be installed"));
  beforeAll(() => {
    const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ ...about, type: "module" }));
  });

  it("trains a shared encoder with a head of its own on its own tensors", async () => {
    const { reason, accuracy } = await program("own-tensors");
    expect(reason).toBe("finished");
    expect(accuracy).toBeGreaterThan(0.9);
  });

  it("trains, generates from, exports and reports a block and a policy of its own", async () => {
    const { loss, text, onnx, report } = await program("own-depth");
    expect(loss).toBeLessThan(2);
    expect(text).toMatch(/^the cat \w+/);
    expect(onnx).toBeGreaterThan(10_000);
    expect(report).toMatchObject({ executedDepth: 2 });
  });

  it("searches, stops, resumes, retrains and generates", async () => {
    const { pi, stopped, found, baseline, ratios, text } = await program("search");
    expect(stopped).toBe("stopped");
    for (const shares of pi) expect(shares.reduce((a: number, b: number) => a + b, 0)).toBeCloseTo(1, 5);
    expect([found, baseline]).toEqual([expect.stringMatching(/^[sfi()x\d]+$/), "sfs"]);
    expect(ratios.latencyMs).toBeGreaterThan(0);
    expect(text).toMatch(/^it was./);
  });

  it("pre-trains, fine-tunes on its own labels and shows the depth of a sentence", async () => {
    const { reason, label, scores, depths } = await program("adapt");
    expect([reason, label]).toEqual(["finished", "good"]);
    expect(Object.keys(scores)).toHaveLength(2);
    for (const { depth } of depths) expect([1, 2, 3, 4]).toContain(depth);
  });

  it("opens, evaluates and resumes a run of the command to the same bits", async () => {
    const flags = ["--preset", "tiny", "--steps", "20", "--checkpoint-every", "10", "--threads", "1"];
    const whole = await run("npx", ["layerwise", "train", ...flags, "--out", "whole"], folder);
    expect(whole.code, whole.stderr).toBe(0);
    cpSync(join(folder, "whole"), join(folder, "run"), { recursive: true });
    rmSync(join(folder, "run", "checkpoints", "step-00000020"), { recursive: true }); // as a kill would have left it
    const { reason, from, steps, before, after } = await program("resume");
    expect([reason, from, steps]).toEqual(["finished", 10, 20]);
    expect(after).toBeLessThan(before);
    const last = (name: string) =>
      readFileSync(join(folder, name, "checkpoints", "step-00000020", "weights.safetensors"));
    expect(last("run").equals(last("whole"))).toBe(true);
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
  const needed = ["CHANGELOG.md", "README.md", "LICENSE", "corpus/books/train.txt", "docs/architecture.md"];
  expect(paths).toEqual(
    expect.arrayContaining([...needed, "dist/cli/main.js", "dist/browser.js", "examples/train.ts"]),
  );
  expect(paths.filter((path) => /\.(test|contract|map)\b|^(src|test|bench)\//.test(path))).toEqual([]);
  const fixtures = paths.filter((path) => path.startsWith("fixtures/"));
  expect(fixtures.filter((path) => !/^fixtures\/[\w-]+\/[\w-]+\.(json|safetensors)$/.test(path))).toEqual([]);
  expect([...new Set(fixtures.map((path) => path.split("/")[1]))]).toEqual([
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
    expect(code).toBe(0);
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
