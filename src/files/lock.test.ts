import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { lockHolder, takeLock } from "./lock.ts";

const root = mkdtempSync(join(tmpdir(), "layerwise-lock-"));
const path = join(root, "lock");
afterEach(() => rmSync(path, { force: true }));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A Node process that does nothing, to hold locks. */
async function idleProcess(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1000)"]);
  await once(child.stdout, "data");
  return child;
}

function writeLock(holder: Record<string, unknown>): void {
  writeFileSync(path, JSON.stringify({ host: hostname(), started: null, token: "theirs", ...holder }));
}

describe("a lock", () => {
  it("is held until it is released, and leaves nothing behind", () => {
    const lock = takeLock(path);
    expect(lock.isHeld()).toBe(true);
    expect(lockHolder(path)).toMatchObject({ live: true, holder: { pid: process.pid } });
    lock.release();
    expect(lock.isHeld()).toBe(false);
    expect(readdirSync(root)).toEqual([]);
  });

  it("refuses a second taker and names the first", () => {
    const lock = takeLock(path);
    expect(() => takeLock(path)).toThrow(`in use by process ${process.pid}`);
    lock.release();
    takeLock(path).release();
  });

  it("of a living process holds, of a killed one does not", async () => {
    const child = await idleProcess();
    writeLock({ pid: child.pid });
    expect(() => takeLock(path)).toThrow(`process ${child.pid}`);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(lockHolder(path)?.live).toBe(false);
    takeLock(path).release();
  });

  it.runIf(existsSync("/proc/self/stat"))("does not hold for a later process with the same pid", async () => {
    const child = await idleProcess();
    writeLock({ pid: child.pid, started: "1" });
    takeLock(path).release();
    child.kill();
  });

  it("of another machine holds, and says how to remove it", () => {
    writeLock({ pid: 1, host: "elsewhere.example" });
    expect(() => takeLock(path)).toThrow(`process 1 on elsewhere.example; wait for it or end it, or delete ${path}`);
  });

  it("that is damaged does not hold", () => {
    writeFileSync(path, '{"pid": 12');
    const lock = takeLock(path);
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ pid: process.pid });
    lock.release();
  });

  it("is not removed by one who lost it", () => {
    const lock = takeLock(path);
    writeLock({ pid: process.pid });
    lock.release();
    expect(existsSync(path)).toBe(true);
  });
});
