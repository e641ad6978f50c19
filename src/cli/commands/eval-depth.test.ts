import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder, printedBy } from "../../../test/command.ts";
import { Run } from "../../tasks/run.ts";
import { addEval } from "./eval.ts";
import { addFinetune } from "./finetune.ts";

const folder = ownFolder("eval-depth");
const at = (name: string) => join(folder, name);

/** One word decides. */
const rows = Array.from({ length: 24 }, (_, i) => {
  const word = i % 2 ? "good" : "bad";
  return `${["the", "a", "my"][i % 3]} ${word} ${["day", "house", "man", "time"][i % 4]}\t${word}`;
});
const quick = "--batch 8 --rate 0.01 --pooling mean --threads 1 --json --epochs 3".split(" ");
const tune = (out: string, ...args: string[]) =>
  printedBy(addFinetune, "finetune", "--train", at("t.tsv"), "--dev", at("t.tsv"), "--out", at(out), ...quick, ...args);
const evaluate = (run: string, ...args: string[]) => printedBy(addEval, "eval", at(run), ...args);
const json = async (run: string, ...args: string[]) => JSON.parse(await evaluate(run, "--json", ...args));

beforeAll(async () => {
  writeFileSync(at("t.tsv"), `${["text\tlabel", ...rows].join("\n")}\n`);
  await tune("halts", "fixtures/runs/albert");
  const sizes = "--width 16 --heads 2 --embedding 8 --depth 2".split(" ");
  await tune("fixed", "--scratch", "--tokenizer", "fixtures/runs/data/tokenizer.model", ...sizes);
}, 60_000);

describe("layerwise eval of a fine-tuned run", () => {
  it("takes a cap and a threshold as predict does, and says depth and time", async () => {
    const usual = await json("halts");
    expect(usual).toMatchObject({ texts: 24, accuracy: expect.any(Number), depth: expect.any(Number) });
    expect(usual.msPerText).toBeGreaterThan(0);
    const [capped, early] = [await json("halts", "--cap", "1"), await json("halts", "--threshold", "0.001")];
    expect([capped.depth, early.depth]).toEqual([1, 1]);
    expect(usual.depth).toBeGreaterThan(1);
    const run = await Run.open(at("halts"), "finetune");
    const { figures } = await run.evaluate({ cap: 1 });
    expect(figures.accuracy).toBe(capped.accuracy);
    const opened = await Run.open(at("halts"), "finetune", { use: { cap: 1 } });
    expect((await opened.evaluate()).figures).toEqual(figures);
  });

  it("gives figures against depth: full depth first, then by falling threshold", async () => {
    const { metric, points } = await json("halts", "--curve", "0.001,0.99", "--out", at("curve.svg"));
    expect([metric, points.map(({ threshold }: { threshold: unknown }) => threshold)]).toEqual([
      "accuracy",
      [null, 0.99, 0.001],
    ]);
    const [full, own, early] = points;
    expect([full.depth, early.depth, full.timeRatio]).toEqual([3, 1, 1]);
    // 0.99 is what it was trained with: leaving work out changes nothing but rounding.
    expect(own.figures).toEqual(full.figures);
    expect(own.loss).toBeCloseTo(full.loss, 5);
    expect(own.depth).toBe((await json("halts")).depth);
    expect(readFileSync(at("curve.svg"), "utf8")).toContain("accuracy against depth");
    const printed = await evaluate("halts", "--curve", "--out", at("curve.png"));
    expect(printed).toMatch(/threshold +depth +loss +accuracy +ms per text +time\nfull depth +3\.00/);
    expect(printed.trim().split("\n")).toHaveLength(7);
    expect(existsSync(at("curve.png"))).toBe(true);
  });

  it("refuses what it cannot do before anything is opened", async () => {
    await expect(evaluate("halts", "--cap", "4")).rejects.toThrow("cap: expected a whole number from 1 to 3, got 4");
    await expect(evaluate("halts", "--threshold", "0")).rejects.toThrow("threshold: expected a number above 0");
    await expect(evaluate("halts", "--loops", "2")).rejects.toThrow(
      "a run of kind language, translate for loops, got finetune",
    );
    await expect(evaluate("halts", "--curve", "0.5,1")).rejects.toThrow("above 0 and below 1");
    await expect(evaluate("halts", "--curve", "--out", at("curve.gif"))).rejects.toThrow("ends with .svg or .png");
    await expect(evaluate("halts", "--curve", "--threshold", "0.5")).rejects.toThrow(
      "--threshold: expected no --curve",
    );
    await expect(evaluate("halts", "--out", at("x.svg"))).rejects.toThrow("--out: expected --curve beside it");
    const opened = await Run.open(at("halts"), "finetune", { use: { cap: 1 } });
    await expect(opened.depths("a day")).rejects.toThrow("depths: expected the depth of training, got another cap");
    rmSync(join(at("fixed"), "checkpoints"), { recursive: true });
    for (const flags of [["--cap", "1"], ["--threshold", "0.5"], ["--curve"]]) {
      await expect(evaluate("fixed", ...flags)).rejects.toThrow("a model whose tokens halt");
    }
  });
});
