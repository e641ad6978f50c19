import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { encodeEvent } from "../runs/event-log.ts";
import type * as runs from "../runs/index.ts";
import { cacheFile } from "./glance-cache.ts";
import { RunIndex } from "./run-index.ts";

const looks = vi.hoisted(() => ({ paths: [] as string[] }));
vi.mock("../runs/index.ts", async (original) => {
  const real = await original<typeof runs>();
  const glanceAt = (path: string) => {
    looks.paths.push(path);
    return real.glanceAt(path);
  };
  return { ...real, glanceAt };
});

const top = mkdtempSync(join(tmpdir(), "layerwise-cache-"));
const folder = join(top, "runs");
const step = (n: number) =>
  encodeEvent({
    type: "step",
    step: n,
    loss: n === 2 ? Number.NaN : 3 / n,
    learningRate: 0.1,
    gradientNorm: 1,
    tokensPerSecond: 100,
    epoch: 0,
    timeMs: 1000 * n,
  });

beforeAll(() => {
  vi.stubEnv("XDG_CACHE_HOME", join(top, "cache"));
  for (const name of ["one", "two"]) {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, "config.yaml"), "task: language\nsteps: 5\nrate: 0.1\n");
    writeFileSync(join(folder, name, "events.jsonl"), [1, 2, 3].map(step).join(""));
  }
});
afterAll(() => rmSync(top, { recursive: true }));

/** A studio's index from its start to its end: its rows, and which runs it opened. */
async function seen() {
  looks.paths = [];
  const index = new RunIndex(folder);
  await index.refresh();
  await index.close();
  const opened = looks.paths.map((path) => index.relative(path)).sort();
  return { rows: JSON.parse(JSON.stringify(index.rows)), opened };
}

describe("the cache of glances", () => {
  it("lets the next studio show the same rows without opening a run", async () => {
    const first = await seen();
    expect(first.opened).toEqual(["one", "two"]);
    const next = await seen();
    expect(next).toEqual({ rows: first.rows, opened: [] });
    expect(next.rows[0]).toMatchObject({ path: "one", step: 3, sparkline: [3, null, 1] });
  });

  it("opens a run again once its files have changed", async () => {
    writeFileSync(join(folder, "two", "events.jsonl"), [1, 2, 3, 4].map(step).join(""));
    const { rows, opened } = await seen();
    expect(opened).toEqual(["two"]);
    expect(rows[1]).toMatchObject({ path: "two", step: 4 });
  });

  it("forgets runs that are gone", async () => {
    rmSync(join(folder, "two"), { recursive: true });
    expect((await seen()).rows).toHaveLength(1);
  });

  it("is nothing but a shortcut: damaged, it is worked out again", async () => {
    const file = cacheFile(folder, "runs.json");
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace('"step":3', '"step":9'));
    const { rows, opened } = await seen();
    expect(opened).toEqual(["one"]);
    expect(rows[0].step).toBe(3);
  });
});
