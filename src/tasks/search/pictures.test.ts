import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { RunFolder } from "../../runs/folder.ts";
import { ChoicePictures } from "./pictures.ts";

const root = ownFolder("pictures");

const names = ["attention", "identity"];
const searched = { names, totalSteps: 8 };
const choicesAt = (step: number) => [
  { names, probabilities: [step / 10, 1 - step / 10] },
  step < 4 ? { names, probabilities: [0.5, 0.5] } : { names: ["identity"], probabilities: [1] },
];

/** Evaluates from one step to another, as a search does. */
async function evaluate(run: RunFolder, pictures: ChoicePictures, first: number, last: number): Promise<void> {
  for (let step = first; step <= last; step += 2) {
    const rates = { loss: 2, learningRate: 1, gradientNorm: 1, tokensPerSecond: 1, epoch: 0 };
    for (const [at, choices] of [
      [step - 1, choicesAt(step - 1)],
      [step, choicesAt(step)],
    ] as const) {
      const looked = { type: "step", step: at, ...rates, scalars: { temperature: 1 / at }, choices } as const;
      run.append(looked);
      await pictures.see(looked);
    }
    const figures = { loss: 2, perplexity: 7.5, perplexityPerWord: 20, bitsPerByte: 1.25, tokens: 64 };
    const choices = choicesAt(step);
    const event = { type: "evaluation", step, split: "valid", best: false, ...figures, choices } as const;
    run.append(event);
    await pictures.see(event);
  }
}

/** Bytes of all pictures by name. */
function picturesOf(path: string): Record<string, string> {
  const folder = join(path, "pictures");
  const files = readdirSync(folder).sort();
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(folder, file)).toString("base64")]));
}

/** Graphic control extensions of a GIF, one a frame. */
const framesIn = (gif: Buffer) => gif.toString("latin1").split("\x21\xf9\x04").length - 1;

describe("the pictures of a search", () => {
  it("are the same after an interruption as without", async () => {
    const content = { config: "task: search\n", environment: {} };
    const straight = await RunFolder.create(join(root, "straight"), content);
    const whole = await ChoicePictures.open(straight, searched);
    await evaluate(straight, whole, 2, 8);
    await whole.see({ type: "end", step: 8, reason: "finished", elapsedMs: 1 });
    await whole.finish();
    straight.close();

    const path = join(root, "broken");
    const before = await RunFolder.create(path, content);
    const stopped = await ChoicePictures.open(before, searched);
    await evaluate(before, stopped, 2, 7);
    await stopped.finish(); // no film yet
    before.close();
    const after = await RunFolder.open(path);
    await after.cutBack(4);
    await ChoicePictures.open(after, searched);
    expect(Object.keys(picturesOf(path))).toEqual(["pi-000002.png", "pi-000002.svg", "pi-000004.png", "pi-000004.svg"]);
    rmSync(join(path, "pictures"), { recursive: true });
    const redrawn = await ChoicePictures.open(after, searched);
    await evaluate(after, redrawn, 6, 8);
    await redrawn.end();
    after.close();

    expect(picturesOf(path)).toEqual(picturesOf(straight.path));
    expect(Object.keys(picturesOf(path))).toHaveLength(10);
    for (const film of ["pi.gif", "pi-dark.gif"]) {
      const bytes = Buffer.from(picturesOf(path)[film]!, "base64");
      expect(bytes.subarray(0, 6).toString()).toBe("GIF89a");
      expect(framesIn(bytes)).toBe(8); // each step that told of π, once
    }
  });

  it("fail no run: what could not be drawn is said at the end", async () => {
    const path = join(root, "blocked");
    const run = await RunFolder.create(path, { config: "task: search\n", environment: {} });
    const pictures = await ChoicePictures.open(run, searched);
    writeFileSync(join(path, "pictures"), "a file where the folder should be");
    await evaluate(run, pictures, 2, 4);
    await pictures.see({ type: "end", step: 4, reason: "finished", elapsedMs: 1 });
    const troubles = await pictures.finish();
    expect(troubles).not.toHaveLength(0);
    for (const trouble of troubles) expect(trouble).toMatch(/^a picture could not be made: E(EXIST|NOTDIR)/);
    expect((await run.events()).filter(({ type }) => type === "evaluation")).toHaveLength(2);
    run.close();
  });

  it("of a run without choices are none", async () => {
    const run = await RunFolder.create(join(root, "none"), { config: "task: search\n", environment: {} });
    await (await ChoicePictures.open(run, searched)).finish();
    expect(readdirSync(run.path)).not.toContain("pictures");
    run.close();
  });
});
