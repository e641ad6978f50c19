import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OwnRedis, redisCommand } from "../../../bench/queue.ts";
import { ownFolder } from "../../../test/command.ts";
import { type Link, openLink } from "./connection.ts";
import { CHUNK_BYTES, fetchFiles, readList, removeFiles, sendFiles } from "./run-files.ts";

if (!redisCommand) console.warn("skipped: tests of files through the queue need redis-server");
const folder = ownFolder("run-files");
const [from, to] = [join(folder, "from"), join(folder, "to")];
const weights = Buffer.from(Array.from({ length: 2 * CHUNK_BYTES + 5 }, (_, i) => i % 251));

describe.runIf(redisCommand)("files through the queue", () => {
  let redis: OwnRedis;
  let link: Link;
  beforeAll(async () => {
    redis = await OwnRedis.start();
    link = await openLink(redis.url, "test", () => {});
    mkdirSync(join(from, "checkpoints", "10"), { recursive: true });
    writeFileSync(join(from, "checkpoints", "10", "weights"), weights);
    writeFileSync(join(from, "events.jsonl"), "one\n");
    writeFileSync(join(from, "lock"), "mine");
  });
  afterAll(async () => {
    await link.close();
    await redis.stop();
  });

  it("arrive as they were, without locks, and as a whole", async () => {
    await sendFiles(link.redis, "k", from, { step: 10 });
    expect(await fetchFiles(link.redis, "k", to)).toMatchObject({ step: 10, files: [{}, {}] });
    expect(readFileSync(join(to, "checkpoints/10/weights")).equals(weights)).toBe(true);
    expect([existsSync(join(to, "lock")), existsSync(`${to}.incoming`)]).toEqual([false, false]);
  });

  it("are sent and fetched once: what is there already stays, what is gone goes", async () => {
    const before = statSync(join(to, "checkpoints/10/weights")).ino;
    appendFileSync(join(from, "events.jsonl"), "two\n");
    writeFileSync(join(to, "stray"), "");
    await sendFiles(link.redis, "k", from, { step: 20 });
    expect((await link.redis.keys("k:*")).length).toBe(2);
    await fetchFiles(link.redis, "k", to);
    expect(statSync(join(to, "checkpoints/10/weights")).ino).toBe(before);
    expect([readFileSync(join(to, "events.jsonl"), "utf8"), existsSync(join(to, "stray"))]).toEqual([
      "one\ntwo\n",
      false,
    ]);
  });

  it("go on after a part was sent, and begin again after the server lost the first part", async () => {
    const list = (await readList(link.redis, "k"))!;
    const blob = `k:${list.files.find(({ path }) => path.endsWith("weights"))!.sha256}`;
    for (const lost of ["2", "0"]) {
      await link.redis.hdel(blob, lost);
      rmSync(to, { recursive: true });
      expect(await fetchFiles(link.redis, "k", to)).toBeUndefined();
      expect(existsSync(to)).toBe(false);
      await sendFiles(link.redis, "k", from, { step: 20 });
      expect(await fetchFiles(link.redis, "k", to)).toEqual(list);
    }
  });

  it("that were damaged on the way are refused, and come when they are sent again", async () => {
    const list = (await readList(link.redis, "k"))!;
    await link.redis.hset(`k:${list.files.find(({ path }) => path === "events.jsonl")!.sha256}`, "0", "one\ntow\n");
    rmSync(join(to, "events.jsonl"));
    await expect(fetchFiles(link.redis, "k", to)).rejects.toThrow("events.jsonl: expected SHA-256");
    await sendFiles(link.redis, "k", from, { step: 20 });
    expect(await fetchFiles(link.redis, "k", to)).toEqual(list);
  });

  it("leave nothing behind", async () => {
    await removeFiles(link.redis, "k");
    expect(await link.redis.keys("*")).toEqual([]);
  });
});
