import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { download } from "./download.ts";

const CONTENT = Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * 7919) % 251));
const SHA256 = createHash("sha256").update(CONTENT).digest("hex");
const root = mkdtempSync(join(tmpdir(), "layerwise-download-"));
const path = join(root, "data.bin");
const requests: (string | undefined)[] = [];
let breakAfter: number | undefined;
let base = "";

/** Serves CONTENT with ranges at /data, without ranges at /plain, a stall at /stall, nothing elsewhere. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  requests.push(request.headers.range);
  if (request.url === "/stall") return void response.writeHead(200, { "content-length": 10 }).write("abc");
  if (request.url !== "/data" && request.url !== "/plain") return void response.writeHead(404).end();
  const start = request.url === "/data" ? Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0) : 0;
  if (start >= CONTENT.length)
    return void response.writeHead(416, { "content-range": `bytes */${CONTENT.length}` }).end();
  const rest = CONTENT.subarray(start);
  const range = { "content-range": `bytes ${start}-${CONTENT.length - 1}/${CONTENT.length}` };
  response.writeHead(start > 0 ? 206 : 200, { "content-length": rest.length, ...(start > 0 ? range : {}) });
  if (breakAfter === undefined) return void response.end(rest);
  response.write(rest.subarray(0, breakAfter), () => setTimeout(() => response.destroy(), 50));
  breakAfter = undefined;
}

const server = createServer(answer);
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(() => {
  for (const name of readdirSync(root)) rmSync(join(root, name));
  requests.length = 0;
});

describe("downloads", () => {
  it("arrive whole, checked, with progress", async () => {
    const seen: number[] = [];
    const result = await download(`${base}/data`, path, { sha256: SHA256, onProgress: (done) => seen.push(done) });
    expect(result).toEqual({ bytes: CONTENT.length, sha256: SHA256, resumedFrom: 0 });
    expect(seen.at(-1)).toBe(CONTENT.length);
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
    expect(readdirSync(root)).toEqual(["data.bin"]);
  });

  it("end where they take more bytes or more time than they may", async () => {
    await expect(download(`${base}/data`, path, { maxBytes: 1000 })).rejects.toThrow(
      /\/data: expected at most 1000 bytes, got 200000; if it is meant, raise maxBytes/,
    );
    await expect(download(`${base}/data`, path, { maxMs: -1 })).rejects.toThrow(/an end in time, got .* raise maxMs/);
    expect(readdirSync(root)).not.toContain("data.bin");
  });

  it("continue by themselves when the connection breaks", async () => {
    breakAfter = 60_000;
    await download(`${base}/data`, path, { sha256: SHA256 });
    expect(requests).toHaveLength(2);
    expect(requests[1]).toMatch(/^bytes=[1-9]\d*-$/);
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
  });

  it("continue what an earlier run left", async () => {
    writeFileSync(`${path}.part`, CONTENT.subarray(0, 1234));
    const { resumedFrom } = await download(`${base}/data`, path, { sha256: SHA256 });
    expect([resumedFrom, requests]).toEqual([1234, ["bytes=1234-"]]);
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
  });

  it("take a part that is complete already", async () => {
    writeFileSync(`${path}.part`, CONTENT);
    await download(`${base}/data`, path, { sha256: SHA256 });
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
  });

  it("start over when the server knows no ranges or the part is of something else", async () => {
    writeFileSync(`${path}.part`, "other");
    await download(`${base}/plain`, path, { sha256: SHA256 });
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
    writeFileSync(`${path}.part`, "other");
    await download(`${base}/data`, path, { sha256: SHA256 });
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
    writeFileSync(`${path}.part`, Buffer.alloc(CONTENT.length + 5));
    await download(`${base}/data`, path, { sha256: SHA256 });
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
  });

  it("with a wrong checksum leave nothing behind", async () => {
    const wrong = "0".repeat(64);
    await expect(download(`${base}/data`, path, { sha256: wrong })).rejects.toThrow(`got ${SHA256}; nothing was kept`);
    expect(readdirSync(root)).toEqual([]);
  });

  it("say what is wrong when there is nothing, no server, or silence", async () => {
    await expect(download(`${base}/none`, path)).rejects.toThrow("HTTP status 404");
    await expect(download("http://127.0.0.1:1/x", path)).rejects.toThrow("check the internet connection");
    await expect(download(`${base}/stall`, path, { timeoutMs: 100, attempts: 1 })).rejects.toThrow(
      "no answer for 0.1 s",
    );
  });
});
