import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder } from "../../test/command.ts";
import { Run, textCorpus } from "../index.ts";
import { RunFolder } from "../runs/folder.ts";
import type { TaskEvent } from "./job.ts";
import { languageJob, openLanguage } from "./language/job.ts";
import { languageSettings } from "./language/settings.ts";
import { newRun } from "./new-run.ts";
import { perform } from "./perform.ts";

const folder = ownFolder("changes");
const words = ["the sea was calm", "a ship sailed by", "the moon rose late", "no wind blew that night"];
const linesOf = (count: number) => Array.from({ length: count }, (_, i) => `${words[i % 4]} ${words[(i * 7) % 3]}`);
const corpus = textCorpus({ train: linesOf(300), valid: linesOf(40) }, "sea");
const stopped = join(folder, "stopped");

beforeAll(async () => {
  const tiny = { ...languageSettings.presets.tiny, corpus: "memory:sea", pieces: 36, width: 16, length: 8, steps: 30 };
  const settings = languageSettings.resolve([{ source: "test", values: { ...tiny, checkpointEvery: 10 } }]);
  const job = await languageJob(await openLanguage(settings, { corpus }));
  const session = perform(job, { into: await newRun(stopped) });
  for await (const event of session) if (event.type === "step" && event.step === 15) break;
});

let copies = 0;
function copied(): string {
  const path = join(folder, `copy-${++copies}`);
  cpSync(stopped, path, { recursive: true });
  return path;
}

function edit(path: string, file: string, from: string | RegExp, to: string): void {
  const text = readFileSync(join(path, file), "utf8");
  expect(text).toMatch(from);
  writeFileSync(join(path, file), text.replace(from, to));
}

async function resumed(path: string, options: Parameters<typeof Run.resume>[1]) {
  const events: TaskEvent[] = [];
  const session = Run.resume(path, { corpus, ...options });
  for await (const event of session) events.push(event);
  const steps = events.filter((event) => event.type === "step");
  const notes = events.flatMap((event) => (event.type === "note" ? [event.text] : []));
  return { steps, notes, result: (await session.result) as { steps: number } };
}

const identityOf = (path: string) => JSON.parse(readFileSync(join(path, "identity.json"), "utf8"));

describe("a run that is resumed", () => {
  it.each([
    ["seed", /seed: 1\b/, "seed: 2", "seed 2 instead of 1"],
    ["heads", /heads: 2\b/, "heads: 4", "heads 4 instead of 2"],
    ["batch", /batch: 8\b/, "batch: 4", "batch 4 instead of 8"],
  ])("refuses an edited %s by name, and to be opened with it", async (_, from, to, message) => {
    const path = copied();
    edit(path, "config.yaml", from, to);
    await expect(resumed(path, {})).rejects.toThrow(message);
    await expect(Run.open(path)).rejects.toThrow(`--set ${message.split(" ")[0]}=…`);
  });

  it("takes a comment in its config as it is", async () => {
    const path = copied();
    edit(path, "config.yaml", /^/, "# mine\n");
    expect((await resumed(path, {})).result.steps).toBe(30);
  });

  it("has settings changed with `set`, and writes that down", async () => {
    const path = copied();
    const { steps } = await resumed(path, { set: { rate: "0.25", schedule: "constant", warmup: 0 } });
    expect(steps.map(({ learningRate }) => learningRate)).toEqual(Array.from({ length: 15 }, () => 0.25));
    expect(identityOf(path).changes).toMatchObject([{ step: 15, set: { rate: [0.006, 0.25] } }]);
    expect(readFileSync(join(path, "config.yaml"), "utf8")).toContain("rate: 0.25");
    expect(readFileSync(join(path, "log.txt"), "utf8")).toContain("changed after step 15: rate 0.006 → 0.25");
  });

  it("refuses settings that do not exist or do not fit, and changes nothing", async () => {
    const path = copied();
    await expect(resumed(path, { set: { rats: 1 } })).rejects.toThrow("rate");
    await expect(resumed(path, { set: { batch: -1 } })).rejects.toThrow("set / batch");
    await expect(resumed(path, { steps: 10 })).rejects.toThrow("more than the 15 steps that were made, got 10");
    expect(identityOf(path)).toEqual(identityOf(stopped));
  });

  it("is made longer, also once it has ended", async () => {
    const path = copied();
    await resumed(path, {});
    expect((await resumed(path, { steps: 40 })).steps.map(({ step }) => step)).toEqual(
      Array.from({ length: 10 }, (_, i) => 31 + i),
    );
    expect((await Run.open(path, "language", { corpus })).settings.steps).toBe(40);
  });

  it("that ended when it was killed keeps no more checkpoints than it should", async () => {
    const path = copied();
    await resumed(path, { set: { checkpointEvery: 5 } });
    const there = () => readdirSync(join(path, "checkpoints")).sort();
    const kept = there();
    cpSync(join(path, "checkpoints", kept.at(-1)!), join(path, "checkpoints/step-00000001"), { recursive: true });
    expect(there()).toHaveLength(kept.length + 1); // as a kill leaves it after the last checkpoint is there
    expect((await resumed(path, {})).steps).toEqual([]);
    expect(there()).toEqual(kept);
  });

  it("that ended when it was killed says in its log how it ended", async () => {
    const path = copied();
    await resumed(path, {});
    const log = join(path, "events.jsonl");
    const lines = readFileSync(log, "utf8").trimEnd().split("\n");
    writeFileSync(log, `${lines.slice(0, -1).join("\n")}\n${lines.at(-1)!.slice(0, 20)}`); // as a kill leaves it in the middle of its last line
    expect((await resumed(path, {})).steps).toEqual([]);
    const { events, damaged } = (await RunFolder.read(path)).eventLog();
    expect(damaged).toBe(0);
    expect(events.at(-1)).toMatchObject({ type: "end", step: 30, reason: "finished" });
    expect(events).toHaveLength(lines.length);
  });

  it("refuses another text unless it is wanted, and writes that down", async () => {
    const path = copied();
    const other = textCorpus({ train: linesOf(301), valid: linesOf(40) }, "sea");
    await expect(resumed(path, { corpus: other })).rejects.toThrow("expected the text that the run learnt from so far");
    expect((await resumed(path, { corpus: other, newText: true })).result.steps).toBe(30);
    expect(identityOf(path).changes[0].text).toBe(identityOf(stopped).text);
  });

  it("refuses a tokenizer that is damaged", async () => {
    const path = copied();
    const bytes = readFileSync(join(path, "tokenizer.model"));
    bytes[40]! ^= 1;
    writeFileSync(join(path, "tokenizer.model"), bytes);
    await expect(resumed(path, {})).rejects.toThrow("tokenizer.model: expected SHA-256");
    await expect(Run.open(path)).rejects.toThrow("tokenizer.model: expected SHA-256");
  });

  it("goes on with a change that a kill cut off half-way", async () => {
    const path = copied();
    const before = readFileSync(join(path, "config.yaml"), "utf8");
    await resumed(path, { set: { rate: 0.001 } });
    writeFileSync(join(path, "config.yaml"), before); // as if config.yaml had not been written any more
    expect((await Run.open(path, "language", { corpus })).settings.rate).toBe(0.001);
  });

  it("of an older layerwise says what cannot be checked, and is bound from then on", async () => {
    const path = copied();
    rmSync(join(path, "identity.json"));
    expect((await resumed(path, {})).notes.join()).toContain("would not show");
    expect(existsSync(join(path, "identity.json"))).toBe(true);
  });

  it("says which versions are others than when it began", async () => {
    const path = copied();
    edit(path, "environment.json", /"layerwise": "[^"]+"/, '"layerwise": "0.0.1"');
    rmSync(join(path, "identity.json"));
    expect((await resumed(path, {})).notes.join()).toContain("layerwise was 0.0.1, is");
  });
});
