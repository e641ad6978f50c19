import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { sha256 } from "../../files/checksum.ts";
import { outlineOf } from "./outline.ts";

const root = ownFolder("outline");
const LARGE = 5_000_000;

/** A text of a time that is past; its other times are of now. */
function write(name: string, letter: string, bytes = LARGE): string {
  const path = join(root, name);
  writeFileSync(path, `${letter.repeat(99)}\n`.repeat(bytes / 100));
  return path;
}
const settled = () => new Promise((resolve) => setTimeout(resolve, 2100));
const keptIn = (cache: string) => readdirSync(join(cache, "texts"));

describe("the outline of a file", () => {
  it("is its hash and its lines", async () => {
    const path = write("small.txt", "a", 300);
    expect(await outlineOf(path, root)).toEqual({ sha256: sha256(readFileSync(path)), lines: 3 });
    expect(readdirSync(root)).toEqual(["small.txt"]);
  });

  it("is kept for a large file that nobody writes any more, and shows every change", async () => {
    const [path, cache] = [write("large.txt", "a"), join(root, "cache")];
    const first = await outlineOf(path, cache);
    expect(readdirSync(root)).not.toContain("cache"); // it was written just now
    await settled();
    expect(await outlineOf(path, cache)).toEqual(first);
    const [kept] = keptIn(cache);
    expect(await outlineOf(path, cache)).toMatchObject(first);
    const { mtime, atime } = statSync(path);
    write("large.txt", "b");
    utimesSync(path, atime, mtime); // one may set the time of a file, but not when that was done
    const second = await outlineOf(path, cache);
    expect(second).toEqual({ sha256: sha256(readFileSync(path)), lines: 50_000 });
    expect(second.sha256).not.toBe(first.sha256);
    expect(keptIn(cache)).toEqual([kept]);
  });

  it("is read again where what was kept is damaged", async () => {
    const [path, cache] = [write("hurt.txt", "c"), join(root, "hurt")];
    await settled();
    const outline = await outlineOf(path, cache);
    const file = join(cache, "texts", keptIn(cache)[0]!);
    const text = readFileSync(file, "utf8");
    const place = text.indexOf(outline.sha256);
    writeFileSync(file, `${text.slice(0, place)}${text[place] === "0" ? "1" : "0"}${text.slice(place + 1)}`);
    const { outlineOf: another } = await freshModule();
    expect(await another(path, cache)).toEqual({ sha256: outline.sha256, lines: outline.lines });
    expect(readFileSync(file, "utf8")).toBe(text);
  });
});

/** The module as another process has it, which remembers nothing. */
async function freshModule(): Promise<typeof import("./outline.ts")> {
  const { vi } = await import("vitest");
  vi.resetModules();
  return import("./outline.ts");
}
