/** The fuzzer, briefly: all past finds, then some inputs for every parser. `npm run fuzz` goes on for as long as one likes. */
import { readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { inputNumber, judge } from "./fuzz/judge.ts";
import { targets } from "./fuzz/targets.ts";

const folder = new URL("../fixtures/fuzz/", import.meta.url);
const slug = (name: string) => name.replaceAll(/\W/g, "-");

describe.each(targets.map((target) => [target.name, target] as const))("%s", (_, target) => {
  const finds = readdirSync(folder).filter((file) => file.startsWith(`${slug(target.name)}.`));

  it.skipIf(finds.length === 0)("withstands what once broke it", async () => {
    for (const file of finds) {
      const bytes = readFileSync(new URL(file, folder));
      const { find } = await judge(target, file.endsWith(".gz") ? gunzipSync(bytes) : bytes);
      expect(find, file).toBeUndefined();
    }
  });

  it("takes or refuses damaged files, within a second and in memory that fits", async () => {
    for (let index = 0; index < 48; index += target.oneIn ?? 1) {
      expect((await judge(target, inputNumber(target, 18, index))).find, `input ${index}`).toBeUndefined();
    }
  });
});

it("the judge sees crashes, slowness and memory", async () => {
  const reader = (read: () => unknown) => judge({ name: "x", valid: () => new Uint8Array(1), read }, new Uint8Array(1));
  const kindOf = async (read: () => unknown) => (await reader(read)).find?.kind;
  const spin = () => {
    for (const end = process.cpuUsage().user + 1.2e6; process.cpuUsage().user < end; );
  };
  expect(await kindOf(() => undefined)).toBeUndefined();
  expect(await kindOf(() => (undefined as unknown as string).length)).toBe("crash");
  expect(await kindOf(spin)).toBe("slow");
  expect(await kindOf(() => new Uint8Array(100e6).fill(1).length)).toBe("memory");
});
