import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../test/command.ts";
import { writeAtomically, writeFolderAtomically, writeToCache } from "./atomic.ts";

const root = ownFolder("atomic");
const one = (text: string) => (folder: string) => writeFile(join(folder, "a.txt"), text);

const how = { command: "export" };

describe("atomic writes", () => {
  it("make missing folders and leave no temporary file", async () => {
    const path = join(root, "deep/er/file.txt");
    await writeAtomically(path, "one");
    await writeAtomically(path, "two");
    expect(readFileSync(path, "utf8")).toBe("two");
    expect(readdirSync(join(root, "deep/er"))).toEqual(["file.txt"]);
  });

  it("leave nothing behind when the rename fails", async () => {
    await writeFolderAtomically(join(root, "taken/file"), one("x"), how);
    await expect(writeAtomically(join(root, "taken/file"), "y")).rejects.toThrow();
    expect(readdirSync(join(root, "taken"))).toEqual(["file"]);
  });

  it.runIf(process.platform === "linux")("name the file that has no room", () => {
    const path = join(root, "small.bin");
    const script = `import { writeAtomically } from ${JSON.stringify(new URL("atomic.ts", import.meta.url).href)};
      await writeAtomically(${JSON.stringify(path)}, new Uint8Array(200_000)).catch(({ code, message }) => console.log(code, message));`;
    const args = ["-c", 'ulimit -f 100; exec "$@"', "-", process.execPath, "--import", "tsx", "--input-type=module"];
    const { stdout } = spawnSync("bash", [...args, "-e", script], { encoding: "utf8" });
    expect(stdout).toMatch(/^EFBIG .*, write, .*small\.bin\n$/);
  });

  it("keep the old folder when filling the new one fails", async () => {
    const path = join(root, "folders/out");
    await writeFolderAtomically(path, one("old"), how);
    const failing = writeFolderAtomically(path, () => Promise.reject(new Error("disk full")), { ...how, force: true });
    await expect(failing).rejects.toThrow("disk full");
    expect(readFileSync(join(path, "a.txt"), "utf8")).toBe("old");
    expect(readdirSync(join(root, "folders"))).toEqual(["out"]);
  });

  it("replace a folder only when forced", async () => {
    const path = join(root, "forced/out");
    await writeFolderAtomically(path, one("old"), how);
    await expect(writeFolderAtomically(path, one("new"), how)).rejects.toThrow("add --force");
    await writeFolderAtomically(path, one("new"), { ...how, force: true });
    expect(readFileSync(join(path, "a.txt"), "utf8")).toBe("new");
    expect(readdirSync(join(root, "forced"))).toEqual(["out"]);
  });

  it.each([
    ["a run", "config.yaml", /expected a folder that `layerwise export` wrote, to replace it, got a run;/],
    ["files of others", "thesis.txt", /got other files: thesis\.txt/],
  ])("never replace %s, even when forced", async (_, name, message) => {
    const path = join(root, `foreign-${name}`);
    await writeAtomically(join(path, name), "mine");
    await expect(writeFolderAtomically(path, one("new"), { ...how, force: true })).rejects.toThrow(message);
    expect(readFileSync(join(path, name), "utf8")).toBe("mine");
  });

  it("never replace what another command wrote, or files added to what this one wrote", async () => {
    const path = join(root, "grown");
    await writeFolderAtomically(path, one("old"), how);
    const other = writeFolderAtomically(path, one("new"), { command: "data build", force: true });
    await expect(other).rejects.toThrow("got one that `layerwise export` wrote");
    await writeAtomically(join(path, "sub/notes.txt"), "mine");
    const again = writeFolderAtomically(path, one("new"), { ...how, force: true });
    await expect(again).rejects.toThrow("got files that are not its own: sub/notes.txt");
  });

  it("clear away what a killed program left, but not what a running one writes", async () => {
    const folder = join(root, "left");
    const { pid: dead } = spawnSync(process.execPath, ["--version"]);
    for (const pid of [dead, process.ppid]) mkdirSync(join(folder, `.out.${pid}.0123abcd.tmp`), { recursive: true });
    await writeFolderAtomically(join(folder, "out"), one("x"), how);
    expect(readdirSync(folder).sort()).toEqual([`.out.${process.ppid}.0123abcd.tmp`, "out"]);
  });
});

it("A write to a cache clears away what killed programs left there an hour ago", async () => {
  const folder = join(root, "cache");
  mkdirSync(folder);
  const { pid: dead } = spawnSync(process.execPath, ["--version"]);
  const left = (name: string, pid: number | undefined, minutes: number) => {
    const path = join(folder, `.${name}.${pid}.0123abcd.tmp`);
    writeFileSync(path, "half");
    utimesSync(path, new Date(), new Date(Date.now() - 60_000 * minutes));
  };
  left("old.tokens", dead, 70);
  left("new.tokens", dead, 5);
  left("live.tokens", process.ppid, 70);
  await writeToCache(join(folder, "text.tokens"), new Uint8Array([1, 2]));
  expect(readdirSync(folder).sort()).toEqual([
    `.live.tokens.${process.ppid}.0123abcd.tmp`,
    `.new.tokens.${dead}.0123abcd.tmp`,
    "text.tokens",
  ]);
});
