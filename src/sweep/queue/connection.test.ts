import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OwnRedis, redisCommand } from "../../../bench/queue.ts";
import { addressFrom, openLink, QUEUE_VARIABLE, redacted } from "./connection.ts";

if (!redisCommand) console.warn("skipped: tests of the queue's connection need redis-server");
const SECRET = "s3cret-word";

describe("the address of a queue", () => {
  it("is shown without its credentials", () => {
    expect(redacted(`redis://me:${SECRET}@host:1/2`)).toBe("redis://***@host:1/2");
    expect(redacted(`redis://:${SECRET}/with@slash@host`)).not.toContain("slash");
    expect(redacted(`redis://host?password=${SECRET}&db=1`)).toBe("redis://host?password=***&db=1");
    expect(redacted("redis://host:6379")).toBe("redis://host:6379");
  });

  it("may be Valkey's, or stand in the environment", () => {
    expect(addressFrom("valkey://host", "--on")).toBe("redis://host");
    process.env[QUEUE_VARIABLE] = "redis://there";
    expect([addressFrom("redis", "--on"), addressFrom(undefined, "worker")]).toEqual([
      "redis://there",
      "redis://there",
    ]);
    delete process.env[QUEUE_VARIABLE];
  });

  it.each([
    [undefined, `got none; give it, or set ${QUEUE_VARIABLE}`],
    ["postgres://host", "got postgres, which is not offered; start redis-server"],
    ["redis://", "got redis://"],
    [`http://:${SECRET}@host`, "got http://***@host"],
  ])("%s is refused", (address, message) => {
    expect(() => addressFrom(address, "--on")).toThrow(message);
  });
});

describe.runIf(redisCommand)("a connection", () => {
  let redis: OwnRedis;
  beforeAll(async () => {
    redis = await OwnRedis.start("--requirepass", SECRET);
  });
  afterAll(() => redis.stop());

  const refusal = (credentials: string, port = redis.port) =>
    openLink(`redis://${credentials}127.0.0.1:${port}`, "--on", () => {}).then(
      () => ({ message: "none", exitCode: 0 }),
      ({ message, exitCode }: Error & { exitCode: number }) => ({ message, exitCode }),
    );

  it("is refused without the password or with another, in words without it", async () => {
    const [none, wrong] = [await refusal(""), await refusal(":wr0ng-word@")];
    expect(none.message).toMatch(/expected a server that lets us in, got NOAUTH.*; put user and password/);
    expect(wrong.message).toMatch(/^redis:\/\/\*\*\*@127\.0\.0\.1:\d+: .*got WRONGPASS/);
    expect([none.exitCode, wrong.exitCode, wrong.message.includes("wr0ng")]).toEqual([2, 2, false]);
  });

  it("is made with the password", async () => {
    const link = await openLink(`redis://:${SECRET}@127.0.0.1:${redis.port}`, "--on", () => {});
    expect([await link.redis.ping(), link.shown]).toEqual(["PONG", `redis://***@127.0.0.1:${redis.port}`]);
    await link.close();
  });

  it("to nobody says so, and how to mend it", async () => {
    expect(await refusal("", 1)).toEqual({
      exitCode: 1,
      message: expect.stringMatching(
        /expected a Redis or Valkey that answers, got .*ECONNREFUSED.*; start redis-server/,
      ),
    });
  });
});
