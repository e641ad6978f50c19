/** What `npm ci` fetches: hashed, and without scripts of others. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

interface Locked {
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly hasInstallScript?: boolean;
}

const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
const lock = Object.entries(JSON.parse(read("package-lock.json")).packages as Record<string, Locked>).filter(
  ([name, { link }]) => name !== "" && !link,
);

describe("the lock file", () => {
  it("has a hash for all that a user installs, and for all that this platform needs to develop", () => {
    const bare = lock.filter(([, { integrity }]) => !integrity?.startsWith("sha512-"));
    // Tools' binaries for other platforms: npm records their hashes only where it can see them.
    expect(bare.filter(([, { dev, optional, os }]) => !(dev && optional && os)).map(([name]) => name)).toEqual([]);
  });

  it("names no host of its own", () => {
    expect(lock.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  it("holds no package whose install script is needed: none is run", () => {
    const scripts = lock.filter(([, { hasInstallScript }]) => hasInstallScript).map(([name]) => name);
    expect(scripts.sort()).toEqual([
      "node_modules/esbuild",
      "node_modules/koffi",
      "node_modules/msgpackr-extract",
      "node_modules/onnxruntime-node",
      "node_modules/protobufjs",
    ]);
    expect(read(".npmrc")).toMatch(/^ignore-scripts=true$/m);
  });
});
