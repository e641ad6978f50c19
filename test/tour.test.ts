import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder } from "./command.ts";

const folder = ownFolder("tour");
const at = (...names: string[]) => join(folder, ...names);
const env = { ...process.env, LAYERWISE_CACHE: at("cache") };
const command = (name: string, ...more: string[]) => [
  ...["dist/cli/main.js", "tour", "--out", at(name), "--steps", "2", "--threads", "1"],
  ...more,
];
const report = (name: string) => readFileSync(at(name, "report.html"), "utf8");
const pictures = (name: string) => report(name).match(/<svg /g)?.length ?? 0;

const parts = [
  { part: "share", runs: ["shared", "unshared"] },
  { part: "search", runs: ["search", "found", "found-baseline"] },
  { part: "adapt", runs: ["adapt"] },
];

describe("layerwise tour", () => {
  let whole: { status: number | null; stdout: string; stderr: string };
  beforeAll(() => {
    whole = spawnSync(process.execPath, command("whole", "--json"), { env, encoding: "utf8" });
  }, 600_000);

  it("ends with a finding per part, in JSON, and a report that holds all pictures", () => {
    expect([whole.status, whole.stderr]).toEqual([0, expect.stringContaining("3 of 3  adapt")]);
    const { reason, findings, share, search, adapt } = JSON.parse(whole.stdout);
    expect([reason, Object.keys(findings)]).toEqual(["finished", ["share", "search", "adapt"]]);
    expect(share.shared.parameters).toBeLessThan(0.5 * share.unshared.parameters);
    expect([search.certainty.length, adapt.kinds.length]).toEqual([6, 4]);
    expect(pictures("whole")).toBe(5);
    for (const sentence of Object.values(findings)) expect(report("whole")).toContain(sentence);
    expect(report("whole")).not.toMatch(/https?:\/\/(?!www\.w3\.org)/);
  });

  it("writes no control codes where nobody watches, and no line wider than 80 columns", () => {
    expect(whole.stderr).not.toContain("\x1b");
    expect(whole.stderr.split("\n").filter((line) => [...line].length > 80)).toEqual([]);
  });

  it("leaves runs that other commands use", () => {
    const args = ["dist/cli/main.js", "depth", at("whole", "adapt"), "--text", "the end.", "--threads", "1"];
    expect(spawnSync(process.execPath, args, { env, encoding: "utf8" }).stdout).toMatch(/the[₁-₆] end/);
    for (const run of ["shared", "unshared", "search", "found", "found-baseline"]) {
      expect(existsSync(at("whole", run, "config.yaml")), run).toBe(true);
    }
  });

  it.each([
    { once: "1 of 3", missing: parts, drawn: 0 },
    { once: "2 of 3", missing: parts.slice(1), drawn: 2 },
    { once: "3 of 3", missing: parts.slice(2), drawn: 3 },
  ])(
    "stopped in part $once keeps what is done",
    async ({ once, missing, drawn }) => {
      const name = `without ${missing.map(({ part }) => part)}`;
      without(name, missing);
      expect(await stopped(command(name), once)).toBe(130);
      expect([pictures(name), report(name).includes("was not finished")]).toEqual([drawn, true]);
    },
    600_000,
  );

  it("goes on to the same end", () => {
    const { status, stdout } = spawnSync(process.execPath, command("without adapt", "--json"), {
      env,
      encoding: "utf8",
    });
    expect([status, JSON.parse(stdout).findings]).toEqual([0, JSON.parse(whole.stdout).findings]);
  }, 600_000);

  it("refuses a folder that is no tour's", () => {
    const args = ["dist/cli/main.js", "tour", "--out", folder];
    const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
    expect([status, stderr]).toEqual([2, expect.stringContaining("expected a new folder, or a tour's")]);
  });
});

/** A tour that has come to the first of these parts. */
function without(name: string, missing: typeof parts): void {
  cpSync(at("whole"), at(name), { recursive: true });
  const kept = JSON.parse(readFileSync(at(name, "tour.json"), "utf8"));
  for (const { part, runs } of missing) {
    kept[part] = null;
    for (const run of runs) rmSync(at(name, run), { recursive: true });
  }
  writeFileSync(at(name, "tour.json"), JSON.stringify(kept));
}

/** Interrupts a tour once it has said something; gives its exit code. */
function stopped(args: readonly string[], once: string): Promise<number | null> {
  const child = spawn(process.execPath, args, { env });
  let [text, sent] = ["", false];
  child.stderr.on("data", (data) => {
    text += data;
    if (sent || !text.includes(once)) return;
    sent = true;
    child.kill("SIGINT");
  });
  return new Promise((resolve) => child.on("exit", resolve));
}
