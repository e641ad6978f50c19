import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { declared, type Place, publicNames, typesIn } from "./declarations.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** The declaration files of the package's entry points. */
const entries = new Set<string>(JSON.stringify(exports).match(/dist\/[\w/-]+\.d\.ts/g));
const key = ({ file, name }: Place) => `${file.slice(root.length)}: ${name}`;

describe.skipIf(!existsSync(join(root, "dist")))("the public entry points", () => {
  const names = [...entries].flatMap((entry) => [...publicNames(join(root, entry))]);
  const reachable = new Set(names.map(([, place]) => key(place)));

  it("export what programs are made of", () => {
    expect(names.map(([name]) => name)).toEqual(
      expect.arrayContaining(["train", "search", "Run", "graph.add", "text.textCorpus"]),
    );
  });

  it("have a doc comment on every export", () => {
    const bare = names.filter(([, place]) => declared(place) && !declared(place)!.documented);
    expect(bare.map(([name, place]) => `${name} (${key(place)})`)).toEqual([]);
  });

  it("export every type that stands in a public signature", () => {
    const hidden = names.flatMap(([name, place]) => {
      const types = declared(place) ? typesIn(place) : [];
      return types.filter((type) => !reachable.has(key(type))).map((type) => `${key(type)} (in ${name})`);
    });
    expect([...new Set(hidden)]).toEqual([]);
  });
});
