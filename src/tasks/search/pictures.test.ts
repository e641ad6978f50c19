import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { RunFolder } from "../../runs/folder.ts";
import { ChoicePictures } from "./pictures.ts";

const root = mkdtempSync(join(tmpdir(), "layerwise-pictures-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const names = ["attention", "identity"];
const choicesAt = (step: number) => [
  { names, probabilities: [step / 10, 1 - step / 10] },
  step < 4 ? { names, probabilities: [0.5, 0.5] } : { names: ["identity"], probabilities: [1] },
];

/** Evaluates from one step to another, as a search does. */
async function evaluate(run: RunFolder, pictures: ChoicePictures, first: number, last: number): Promise<void> {
  for (let step = first; step <= last; step += 2) {
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

describe("the pictures of a search", () => {
  it("are the same after an interruption as without", async () => {
    const content = { config: "task: search\n", environment: {} };
    const straight = await RunFolder.create(join(root, "straight"), content);
    const whole = await ChoicePictures.open(straight, names);
    await evaluate(straight, whole, 2, 8);
    await whole.see({ type: "end", step: 8, reason: "finished", elapsedMs: 1 });
    await whole.finish();
    straight.close();

    const path = join(root, "broken");
    const before = await RunFolder.create(path, content);
    const stopped = await ChoicePictures.open(before, names);
    await evaluate(before, stopped, 2, 7);
    await stopped.finish(); // no film yet
    before.close();
    const after = await RunFolder.open(path);
    await after.cutBack(4);
    await ChoicePictures.open(after, names);
    expect(Object.keys(picturesOf(path))).toEqual(["pi-000002.png", "pi-000002.svg", "pi-000004.png", "pi-000004.svg"]);
    rmSync(join(path, "pictures"), { recursive: true });
    const redrawn = await ChoicePictures.open(after, names);
    await evaluate(after, redrawn, 6, 8);
    await redrawn.film();
    after.close();

    expect(picturesOf(path)).toEqual(picturesOf(straight.path));
    expect(Object.keys(picturesOf(path))).toHaveLength(9);
  });

  it("of a run without choices are none", async () => {
    const run = await RunFolder.create(join(root, "none"), { config: "task: search\n", environment: {} });
    await (await ChoicePictures.open(run, names)).finish();
    expect(readdirSync(run.path)).not.toContain("pictures");
    run.close();
  });
});
