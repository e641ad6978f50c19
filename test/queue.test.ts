/** Sweeps on a queue: a real Redis that restarts empty, workers that are killed, and what is refused. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { marked, OwnRedis, redisCommand, start, withTrouble } from "../bench/queue.ts";
import { summarise } from "../src/runs/summary.ts";
import { openLink } from "../src/sweep/queue/connection.ts";
import { keys } from "../src/sweep/queue/protocol.ts";
import { ownFolder } from "./command.ts";

if (!redisCommand) console.warn("skipped: sweeps on a queue need redis-server");
const folder = ownFolder("queue");
const SECRET = "s3cret-word";

const checkpointsIn = (run: string) =>
  existsSync(join(run, "checkpoints"))
    ? readdirSync(join(run, "checkpoints")).filter((name) => !name.startsWith(".")).length
    : 0;

const allOnce = (trials: number) => Array.from({ length: trials }, () => 1);

describe.runIf(redisCommand && process.platform === "linux")("a sweep on a queue", () => {
  it.each([
    { name: "shared", trials: 6, kills: 3 },
    { name: "unshared", trials: 3, kills: 1 },
  ])(
    "($name folder) ends as the local one, bit for bit, with workers killed and a Redis that forgets",
    async (each) => {
      const trouble = { folder: join(folder, each.name), ...each, workers: 3, steps: 40 };
      const { seconds: _, said, ...verdict } = await withTrouble({ ...trouble, unshared: each.name === "unshared" });
      const { trials, kills } = each;
      expect({ ...verdict, said: verdict.status === 0 ? "" : said }).toEqual({
        kills,
        ends: allOnce(trials),
        runEnds: allOnce(trials),
        different: [],
        orphans: 0,
        status: 0,
        said: "",
      });
      expect(said).toContain("has lost its data: the trials are queued again");
    },
    240_000,
  );
});

describe.runIf(redisCommand)("a queue with a password", () => {
  let redis: OwnRedis;
  beforeAll(async () => {
    redis = await OwnRedis.start("--requirepass", SECRET);
  });
  afterAll(() => redis.stop());
  const address = () => `redis://:${SECRET}@127.0.0.1:${redis.port}`;
  const file = join(folder, "one.yaml");
  const settings = "{ steps: 300, evaluateEvery: 300, checkpointEvery: 10, threads: 1, width: 16 }";
  writeFileSync(file, `task: language\npreset: tiny\nsettings: ${settings}\nvary: { rate: [0.001] }\n`);

  it("shows it in no log and no file; its sweep stops with a checkpoint on Ctrl-C, and goes on", async () => {
    const out = join(folder, "one");
    const worker = start(["worker", "--connect", address()], "password");
    const stopped = start(["sweep", file, "--out", out, "--on", address()], "password");
    while (checkpointsIn(join(out, "runs", "0")) === 0) await setTimeout(20);
    stopped.child.kill("SIGINT");
    expect([await stopped.ended, stopped.said()]).toEqual([0, expect.stringContaining("stopped; the same command")]);
    expect((await summarise(join(out, "runs", "0"))).status).toBe("stopped");
    const sweep = start(["sweep", file, "--out", out, "--on", address()], "password");
    expect([await sweep.ended, sweep.printed()]).toEqual([0, expect.stringContaining("finished")]);
    worker.child.kill("SIGTERM");
    expect(await worker.ended).toBe(0);
    const files = readdirSync(out, { recursive: true, encoding: "utf8" }).map((name) => join(out, name));
    const texts = files.filter((name) => statSync(name).isFile()).map((name) => readFileSync(name, "latin1"));
    const all = [...texts, sweep.printed(), sweep.said(), worker.printed(), worker.said()];
    expect(all.length).toBeGreaterThan(10);
    expect(all.filter((text) => text.includes(SECRET))).toEqual([]);
    expect(marked("password")).toEqual([]);
  }, 120_000);

  it("is refused to those without it, before the sweep's folder is there", async () => {
    const out = join(folder, "none");
    const sweep = start(["sweep", file, "--out", out, "--on", `redis://127.0.0.1:${redis.port}`], "refused");
    expect([await sweep.ended, sweep.said()]).toEqual([2, expect.stringContaining("NOAUTH")]);
    expect(existsSync(out)).toBe(false);
  }, 60_000);

  it("refuses a worker of another version than the sweep's, with words", async () => {
    const link = await openLink(address(), "test", () => {});
    const stays = (key: string, version: string, name: string) =>
      link.redis.set(key, JSON.stringify({ version, name }));
    await stays(`${keys.launchers}elsewhere`, "9.9.9", "laptop-1");
    const worker = start(["worker", "--connect", address()], "version");
    expect([await worker.ended, worker.said()]).toEqual([
      2,
      expect.stringMatching(
        /expected version 9\.9\.9, as the sweep of laptop-1 has, got \d.*; install layerwise@9\.9\.9/,
      ),
    ]);
    await link.redis.del(`${keys.launchers}elsewhere`);
    await stays(`${keys.workers}old`, "0.0.1", "laptop-2");
    const sweep = start(["sweep", file, "--out", join(folder, "waits"), "--on", address()], "version");
    while (!sweep.said().includes("no worker is there")) await setTimeout(50);
    expect(sweep.said()).toContain("worker laptop-2 is of version 0.0.1 and takes no trials of this sweep");
    sweep.child.kill("SIGINT");
    expect(await sweep.ended).toBe(0);
    await link.close();
  }, 60_000);
});
