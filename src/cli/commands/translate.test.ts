import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { layerwiseWith, ownFolder } from "../../../test/command.ts";

const folder = ownFolder("translate");

const run = join(folder, "run");
const nouns = { dog: "Hund", cat: "Kater", bird: "Vogel", horse: "Hengst", man: "Mann", boy: "Junge" };
const verbs = { runs: "rennt", sleeps: "schläft", sings: "singt", waits: "wartet" };
const pairs = Object.entries(nouns).flatMap(([noun, Nomen]) =>
  Object.entries(verbs).map(([verb, Verb]) => [`The ${noun} ${verb}.`, `Der ${Nomen} ${Verb}.`] as const),
);

const env = { ...process.env, XDG_CACHE_HOME: folder };
const layerwise = (args: string[], input = "") => layerwiseWith({ input, env }, ...args);

beforeAll(() => {
  for (const part of ["train", "valid", "test"]) {
    const times = part === "train" ? 4 : 1;
    ["en", "de"].forEach((language, side) => {
      const lines = Array.from({ length: times }, () => pairs.map((pair) => pair[side])).flat();
      writeFileSync(join(folder, `${part}.${language}`), `${lines.join("\n")}\n`);
    });
  }
  const size = "--width 32 --heads 2 --feed-forward 64 --depth 2 --unique 1 --dropout 0".split(" ");
  const length = ["--length", "32", "--batch", "8", "--steps", "120", "--warmup", "10", "--rate", "0.005"];
  const habits = ["--checkpoint-every", "20", "--evaluate-every", "60", "--threads", "1", "--pieces", "54"];
  const { status, stderr } = layerwise([
    ...["train", "--task", "translate", "--corpus", folder, "--out", run],
    ...size,
    ...length,
    ...habits,
  ]);
  expect([status, stderr]).toEqual([0, expect.stringContaining("encoder plan         0 0")]);
});

describe("layerwise translate", () => {
  it("translates the lines of standard input; empty lines stay", () => {
    const { status, stdout, stderr } = layerwise(["translate", run], "The dog sings.\n\nThe boy waits.\n");
    expect([status, stdout, stderr]).toEqual([0, "Der Hund singt.\n\nDer Junge wartet.\n", ""]);
  });

  it("scores a part of the corpus, also with averaged checkpoints", () => {
    const { stdout } = layerwise(["translate", run, "--score", "test", "--json"]);
    const found = JSON.parse(stdout);
    expect(found).toMatchObject({ split: "test", sentences: 24, brevityPenalty: 1 });
    expect(found.bleu).toBeGreaterThan(95);
    const averaged = JSON.parse(
      layerwise(["translate", run, "--score", "test", "--average", "2", "--beam", "1", "--json"]).stdout,
    );
    expect(averaged.bleu).toBeGreaterThan(90);
  });

  it("names what is wrong", () => {
    expect(layerwise(["translate", run, "--average", "9"])).toMatchObject({ status: 1 });
    expect(layerwise(["translate", run, join(folder, "absent")]).stderr).toContain("translate: cannot read");
    const { status, stderr } = layerwise(["generate", run]);
    expect([status, stderr]).toEqual([
      2,
      expect.stringContaining("expected a run that can continue text, got one of kind translate"),
    ]);
  });

  it("is compared by depths in words, each for both sides", () => {
    const sizes = "--width 16 --heads 2 --feed-forward 32 --length 32 --batch 8 --steps 2 --evaluate-every 1".split(
      " ",
    );
    const rest = [
      "--corpus",
      folder,
      "--pieces",
      "54",
      "--threads",
      "1",
      "--seeds",
      "1",
      "--out",
      join(folder, "rows"),
    ];
    const asked = ["compare", "--task", "translate", "--depths", "1; 1*2 halt", ...sizes, ...rest, "--json"];
    const { status, stdout } = layerwise(asked);
    const [plain, halting] = JSON.parse(stdout).rows;
    expect([status, plain.executedDepth, plain.meanDepth, halting.executedDepth]).toEqual([0, 2, 2, 4]);
    expect([plain.meanFlopsPerToken === plain.flopsPerToken, halting.meanDepth <= 4]).toEqual([true, true]);
    expect(halting.perplexity.values).toHaveLength(1);
  });
});
