import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as promises from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { Bytes } from "./bytes.ts";
import { Hash } from "./crypto.ts";
import * as ourFs from "./fs.ts";
import * as ourPromises from "./fs-promises.ts";
import * as ourPath from "./path.ts";
import * as system from "./system.ts";

const folder = fs.mkdtempSync(path.join(tmpdir(), "layerwise-disk-"));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

/** What a call gives, or the code of its error. */
async function outcome(call: () => unknown): Promise<unknown> {
  try {
    const value = await call();
    return value instanceof Uint8Array ? [...value] : value;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

type Fs = typeof fs;
type Promises = typeof promises;

/** What run folders do to a disk, and what goes wrong. */
const calls: Record<string, (at: (name: string) => string, fs: Fs, promises: Promises) => unknown> = {
  "makes a folder within none": (at, fs) => fs.mkdirSync(at("a/b")),
  "makes folders": (at, fs) => void fs.mkdirSync(at("a/b"), { recursive: true }),
  "makes a folder again": (at, fs) => fs.mkdirSync(at("a")),
  "writes into no folder": (at, fs) => fs.writeFileSync(at("c/x"), "x"),
  "writes a file": (at, fs) => fs.writeFileSync(at("a/x"), "grün"),
  "writes one that must be new": (at, fs) => fs.writeFileSync(at("a/x"), "other", { flag: "wx" }),
  "reads text": (at, fs) => fs.readFileSync(at("a/x"), "utf8"),
  "reads bytes": (at, _, promises) => promises.readFile(at("a/x")),
  "reads no file": (at, _, promises) => promises.readFile(at("a/y"), "utf8"),
  appends: (at, fs) => fs.appendFileSync(at("a/log"), "one\n"),
  "appends more": (at, fs) => fs.appendFileSync(at("a/log"), "two\n"),
  "has the appended": (at, fs) => fs.readFileSync(at("a/log"), "utf8"),
  lists: (at, fs) => fs.readdirSync(at("a")).sort(),
  "lists all below": (at, fs) => (fs.readdirSync(at(""), { recursive: true }) as string[]).sort(),
  "lists a file": (at, _, promises) => promises.readdir(at("a/x")),
  links: (at, fs) => fs.linkSync(at("a/x"), at("a/linked")),
  "links again": (at, fs) => fs.linkSync(at("a/x"), at("a/linked")),
  "renames over a file": (at, fs) => fs.renameSync(at("a/linked"), at("a/log")),
  "renames a folder": (at, _, promises) => promises.rename(at("a"), at("d")),
  "has what was in it": (at, fs) => [fs.existsSync(at("a")), fs.readFileSync(at("d/log"), "utf8")],
  "renames nothing": (at, _, promises) => promises.rename(at("a"), at("e")),
  "renames a folder onto a full one": (at, fs) => {
    fs.mkdirSync(at("full/in"), { recursive: true });
    fs.renameSync(at("d"), at("full"));
  },
  "says sizes": (at, fs) => [fs.statSync(at("d/x")).size, fs.statSync(at("d")).isDirectory()],
  "says nothing of nothing": (at, fs) => fs.statSync(at("none"), { throwIfNoEntry: false }),
  "reads a part": (at, fs) => {
    const [file, into] = [fs.openSync(at("d/x"), "r"), new Uint8Array(4)];
    const counts = [fs.readSync(file, into, 1, 2, 1), fs.readSync(file, into, 0, 1, null), fs.fstatSync(file).size];
    fs.closeSync(file);
    return [...counts, ...into];
  },
  "writes by a handle": async (at, _, promises) => {
    const file = await promises.open(at("d/new"), "wx");
    await file.writeFile("a");
    await file.writeFile(Uint8Array.of(98));
    await file.sync();
    await file.close();
    return promises.readFile(at("d/new"), "utf8");
  },
  "copies, cuts and removes": async (at, fs, promises) => {
    await promises.copyFile(at("d/new"), at("d/copy"));
    await promises.truncate(at("d/copy"), 1);
    await promises.appendFile(at("d/copy"), "c");
    const text = fs.readFileSync(at("d/copy"), "utf8");
    await promises.unlink(at("d/copy"));
    return [text, fs.existsSync(at("d/copy"))];
  },
  "asks for access": (at, _, promises) => promises.access(at("d/copy")),
  "removes a folder that is full": (at, fs) => fs.rmdirSync(at("full")),
  "removes an empty one": (at, fs) => fs.rmdirSync(at("full/in")),
  "opens one that must be new": (at, _, promises) => promises.open(at("d/new"), "wx"),
  "removes a folder as a file": async (at, _, promises) => promises.rm(at("d")).catch(() => "refused"),
  "removes nothing": (at, _, promises) => promises.rm(at("none")),
  "removes nothing by force": (at, fs) => fs.rmSync(at("none"), { force: true }),
  "removes a folder": (at, fs) => fs.rmSync(at("d"), { recursive: true }),
  "has nothing left": (at, fs) => (fs.readdirSync(at(""), { recursive: true }) as string[]).sort(),
};

describe("the page's disk does as a real one:", () => {
  ourFs.mkdirSync("/trial", { recursive: true });
  it.each(Object.entries(calls))("%s", async (_, call) => {
    const there = await outcome(() => call((name) => path.join(folder, name), fs, promises));
    const here = await outcome(() =>
      call((name) => `/trial/${name}`.replace(/\/$/, ""), ourFs as unknown as Fs, ourPromises as unknown as Promises),
    );
    expect(here).toEqual(there);
  });
});

describe("on a page", () => {
  it("names are joined and taken apart as in Node", () => {
    const names = ["a/b.txt", "/a//b/../c", "a/", ".hidden", "x.tar.gz", "..", "/", "a/.b", ""];
    for (const name of names) {
      expect(ourPath.basename(name, ".txt")).toBe(path.posix.basename(name, ".txt"));
      expect(ourPath.dirname(name)).toBe(path.posix.dirname(name));
      expect(ourPath.extname(name)).toBe(path.posix.extname(name));
      for (const other of names) expect(ourPath.join(name, other)).toBe(path.posix.join(name, other));
    }
    for (const [from, to] of [
      ["/a/b", "/a/c"],
      ["/a", "/a"],
      ["/a", "/a/b/c"],
      ["/x/y", "/"],
    ] as const)
      expect(ourPath.relative(from, to)).toBe(path.posix.relative(from, to));
  });

  it("SHA-256 is Node's, however the bytes come", () => {
    for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 128, 1000, 70_001]) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 131 + length) & 255);
      const cut = Math.floor(length / 3);
      const found = new Hash().update(bytes.subarray(0, cut)).update(bytes.subarray(cut)).digest("hex");
      expect(found).toBe(createHash("sha256").update(bytes).digest("hex"));
    }
    expect(new Hash().update("grün").digest("hex")).toBe(createHash("sha256").update("grün").digest("hex"));
  });

  it("bytes turn into text and values are compared as in Node", () => {
    expect(Bytes.concat([Bytes.from("gr"), Bytes.from("ün")]).toString("utf8")).toBe("grün");
    expect(Bytes.from([1, 255]).toString("hex")).toBe("01ff");
    const values = [
      1,
      Number.NaN,
      "1",
      null,
      undefined,
      [],
      {},
      [1],
      { a: [1, { b: 2 }] },
      { a: [1, { b: 3 }] },
      { 0: 1 },
    ];
    for (const a of values)
      for (const b of values) expect(system.isDeepStrictEqual(structuredClone(a), b)).toBe(isDeepStrictEqual(a, b));
  });
});
