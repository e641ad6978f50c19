import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tinySearch } from "../../../../test/tiny-search.ts";
import { parsePattern } from "../../../depth/pattern.ts";
import type { Engine } from "../../../engine/engine.ts";
import { ortEngine } from "../../../engine/ort.ts";
import { openCorpus } from "../../../text/files/corpus.ts";
import type { TaskEvent } from "../../job.ts";
import { Run } from "../../run.ts";
import { type Front, type FrontOptions, retrainFront, type SearchOptions, search, searchDefaults } from "../index.ts";

const folder = mkdtempSync(join(tmpdir(), "layerwise-front-"));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

const costs = {
  ...{ shape: searchDefaults.latency, threads: 1, rest: { flops: 1, ms: 1 } },
  candidates: [
    { name: "attention", flops: 1, ms: 3 },
    { name: "feed-forward", flops: 1, ms: 1, firstMs: 1, furtherMs: 1.25 },
    { name: "feed-forward 8", flops: 1, ms: 0.5 },
    { name: "identity", flops: 0, ms: 0 },
  ],
};
let [engine, tiny]: [Engine, SearchOptions] = [] as never;
beforeAll(async () => {
  engine = await ortEngine({ threads: 1 });
  const given = { data: { corpus: await openCorpus("books") }, engine, ...tinySearch, costs };
  const rest = { blocks: 3, candidates: "s,f,f:8,i", networks: 30, rankBatches: 1, steps: 12, evaluateEvery: 6 };
  tiny = { ...given, ...rest, dropout: 0.1, checkpointEvery: 1, front: true, budget: "0.8" };
});
const frontOfRun = (path: string): Front => JSON.parse(frontIn(path));
const frontIn = (path: string) => readFileSync(join(path, "front.json"), "utf8");

const skipped = (pattern: string) => parsePattern(pattern).filter((kind) => kind === "identity").length;

/** Runs until an event fits, and stops there. */
async function stoppedAt(path: string, isDue: (event: TaskEvent) => boolean): Promise<void> {
  for await (const event of search({ ...tiny, into: await Run.create(path) })) if (isDue(event)) break;
}

describe("a search for a front", () => {
  it("ends with a network for every budget, and the one for its own; the run opens as that network", async () => {
    const path = at("whole");
    const result = await search({ ...tiny, into: await Run.create(path) }).result;
    const { networks, chosen, measured, baselineMs, targetMs } = result.front!;
    expect([measured, baselineMs, targetMs]).toEqual([30, 8, 6.4]);
    for (const [i, { ms, perplexity, ratio }] of networks.entries()) {
      expect(ratio).toBe(ms / 8);
      if (i > 0) expect(ms).toBeGreaterThan(networks[i - 1]!.ms);
      expect(perplexity).toBeGreaterThan(1);
    }
    expect(chosen).toBe(networks.findLast(({ ms }) => ms <= 6.4)!.pattern);
    expect([result.pattern, result.latency!.chosenMs <= 6.4]).toEqual([chosen, true]);
    expect(result.latencyCheck!.measuredMs).toBeGreaterThan(0);
    const run = await Run.open(path, "search", { engine, corpus: (await openCorpus("books"))! });
    expect((await run.evaluate()).pattern).toBe(chosen);
    expect(readFileSync(join(path, "pictures", "front.svg"), "utf8")).toContain("chosen");
  });

  it("skips blocks at full depth only where three of the cheapest candidate, 1 + 3 · 0.5 ms, would be too dear", async () => {
    const { front } = await search({ ...tiny, fullDepth: true, steps: 2 }).result;
    expect(front!.networks.filter(({ pattern, ms }) => pattern.includes("i") && ms >= 2.5)).toEqual([]);
  });

  it.each([
    ["in training", (event: TaskEvent) => event.type === "step" && event.step === 5],
    ["at its last update", (event: TaskEvent) => event.type === "step" && event.step === 12],
    ["while it ranks", (event: TaskEvent) => event.type === "note" && event.text.includes("networks measured")],
  ])("stopped %s and resumed gives the same front, bit for bit", async (name, isDue) => {
    const path = at(name);
    await stoppedAt(path, isDue);
    await Run.resume(path, { engine, corpus: await openCorpus("books") }).result;
    expect(frontIn(path)).toBe(frontIn(at("whole")));
  });

  it("keeps to limits of parameters and memory", async () => {
    const { front } = await search({ ...tiny, steps: 2, evaluateEvery: 2 }).result;
    const sizes = front!.networks.map(({ parameters }) => parameters);
    const most = Math.round((Math.min(...sizes) + Math.max(...sizes)) / 2);
    const limited = await search({ ...tiny, steps: 2, evaluateEvery: 2, mostParameters: most }).result;
    expect(Math.max(...limited.front!.networks.map(({ parameters }) => parameters))).toBeLessThanOrEqual(most);
    await expect(search({ ...tiny, front: false, mostParameters: most }).result).rejects.toThrow("with front");
  });

  it("has networks that are retrained beside the baseline; the same call goes on with what is there", async () => {
    const { data } = tiny;
    const asked = {
      data,
      engine,
      networks: 2,
      into: at("retrained"),
      steps: 3,
      latency: { batch: 1, length: 8, memory: 4 },
    };
    for await (const event of retrainFront(at("whole"), asked)) if (event.type === "step" && event.step === 2) break;
    const { networks, tau, ranked } = await retrainFront(at("whole"), asked).result;
    expect(networks.map(({ name }) => name)).toEqual(["network-1", "network-2", "baseline"]);
    expect(networks.every(({ latencyMs, perplexity }) => latencyMs > 0 && perplexity > 1)).toBe(true);
    const [first, , baseline] = networks;
    expect([ranked, baseline!.supernetPerplexity! > 1, Math.abs(tau) <= 1]).toEqual([3, true, true]);
    const { finalists } = frontOfRun(at("whole"));
    expect(first!.supernetPerplexity).toBe(finalists!.find(({ pattern }) => pattern === first!.pattern)!.perplexity);
    const longer = { ...asked, steps: 4 };
    await expect(retrainFront(at("whole"), longer).result).rejects.toThrow("expected a run with steps 4, got 3");
    const { networks: again } = await retrainFront(at("whole"), asked).result;
    expect(again.map(({ perplexity }) => perplexity)).toEqual(networks.map(({ perplexity }) => perplexity));
    await expect(retrainFront(at("retrained"), asked).result).rejects.toThrow("without front.json");
  });

  it("is said to have fewer networks than were asked for", async () => {
    const notes: string[] = [];
    const { networks } = frontOfRun(at("whole"));
    for await (const event of retrainFront(at("whole"), { data: tiny.data!, engine, networks: 99, steps: 1 })) {
      if (event.type === "note") notes.push(event.text);
      if (event.type === "step") break;
    }
    expect(notes[0]).toBe(`--front 99: the front has ${networks.length}; all of it is trained`);
  });

  it("of several seeds is named by its run, in the words of what was asked", async () => {
    const path = at("seeds");
    cpSync(at("whole"), join(path, "seed-2"), { recursive: true });
    writeFileSync(join(path, "sweep.yaml"), "task: search\n");
    const remedy = `retrain --race: expected the run of a search with --front, got ${path}, a folder of seeds with a front each; name one of them: ${join(path, "seed-2")}`;
    await expect(retrainFront(path, { race: 2, into: at("never") }).result).rejects.toThrow(remedy);
    await expect(retrainFront(folder, { race: 2, into: at("never") }).result).rejects.toThrow("leave --race out");
  });

  it("lets its best networks within a budget race; stopped anywhere and called again it has the same winner and weights", async () => {
    const { data } = tiny;
    const latency = { batch: 1, length: 8, memory: 4 };
    const asked = { data, engine, race: 4, budget: "0.9", steps: 10, checkpointEvery: 3, latency, baseline: false };
    const whole = await retrainFront(at("whole"), { ...asked, into: at("race") }).result;
    const { race, networks } = whole;
    expect(race!.map(({ name }) => name)).toEqual(["network-1", "network-2", "network-3", "network-4", "regular"]);
    expect(race!.every(({ ratio }) => ratio <= 0.9)).toBe(true);
    expect([race![4]!.pattern, race![4]!.supernetPerplexity! > 1]).toEqual(["s f f:8", true]);
    const ranked = race!.slice(0, 4);
    const supernet = ranked.map(({ pattern, supernetPerplexity }) => supernetPerplexity! * 1.002 ** skipped(pattern));
    expect(supernet).toEqual(supernet.toSorted((a, b) => a - b));
    const first = race!.map(({ losses }) => losses[0]!);
    const best = first.toSorted((a, b) => a - b).slice(0, 2);
    expect(race!.map(({ losses }) => losses.length)).toEqual(first.map((loss) => (best.includes(loss) ? 2 : 1)));
    const last = race!.filter(({ losses }) => losses.length === 2).toSorted((a, b) => a.losses[1]! - b.losses[1]!);
    expect(networks.map(({ pattern }) => pattern)).toEqual([last[0]!.pattern]);
    for (const due of [1, 3, 9]) {
      const again = { ...asked, into: at(`race stopped at ${due}`) };
      for await (const event of retrainFront(at("whole"), again)) {
        if (event.type === "step" && event.step === due) break;
      }
      const resumed = await retrainFront(at("whole"), again).result;
      expect(resumed.race).toEqual(race);
      expect(resumed.networks.map(({ perplexity }) => perplexity)).toEqual(networks.map((row) => row.perplexity));
    }
    await expect(retrainFront(at("whole"), asked).result).rejects.toThrow("race: expected a folder");
    await expect(retrainFront(at("whole"), { ...asked, networks: 2 }).result).rejects.toThrow("got networks and race");
    const cheap = { ...asked, budget: "0.05", into: at("cheap") };
    await expect(retrainFront(at("whole"), cheap).result).rejects.toThrow("budget: expected at least");
  });

  it("has a null test: random networks of no more latency, beside what was found or what won a race", async () => {
    const { data } = tiny;
    const latency = { batch: 1, length: 8, memory: 4 };
    const asked = { data, engine, random: 3, steps: 2, latency, into: at("null") };
    for await (const event of retrainFront(at("whole"), asked)) {
      if (event.type === "note" && event.text.includes("random-2")) break;
    }
    const { networks, nullTest, ranked } = await retrainFront(at("whole"), asked).result;
    const names = ["found", "baseline", "random-1", "random-2", "random-3"];
    expect([networks.map(({ name }) => name), ranked]).toEqual([names, 5]);
    expect(networks[0]!.pattern).toBe(frontOfRun(at("whole")).chosen);
    const patterns = networks.slice(2).map(({ pattern }) => pattern);
    expect([new Set(patterns).size, nullTest!.mostMs]).toEqual([3, 6.4]);
    expect(nullTest).toMatchObject({ name: "found", perplexity: networks[0]!.perplexity });
    expect(nullTest!.random.values).toEqual(networks.slice(2).map(({ perplexity }) => perplexity));
    const raced = { ...asked, race: 2, budget: "0.9", baseline: false, into: at("null race") };
    const result = await retrainFront(at("whole"), raced).result;
    expect([result.nullTest!.pattern, result.nullTest!.mostMs]).toEqual([result.networks[0]!.pattern, 7.2]);
    expect(result.ranked).toBe(4);
  });

  it("that is refused says why before a folder is made", async () => {
    const into = at("never");
    const refused = (source: string, asked: FrontOptions) =>
      expect(retrainFront(source, { data: tiny.data!, engine, ...asked, into }).result).rejects;
    await refused(at("whole"), { random: 1 }).toThrow("random: expected at least 2 networks, got 1");
    await refused("(sf)x2", { random: 3 }).toThrow("retrain --random: expected the run of a search, got (sf)x2");
    await refused(at("whole"), { random: 3, networks: 2, budget: "0.5" }).toThrow("got networks and random and budget");
    await refused(at("whole"), { random: 3, budget: "0.05" }).toThrow(
      "random: expected two networks of at most 0.400 ms",
    );
    await refused(at("whole"), {}).toThrow("got none of them");
    expect(existsSync(into)).toBe(false);
  });

  it("killed before it could write its result down works the same front out again", async () => {
    const path = at("whole");
    const front = frontIn(path);
    for (const name of ["front.json", "architecture.json"]) unlinkSync(join(path, name));
    await Run.resume(path, { engine, corpus: await openCorpus("books") }).result;
    expect(frontIn(path)).toBe(front);
  });

  it("refuses limits that no network keeps to before a folder is made", async () => {
    for (const limit of [{ mostParameters: 100 }, { mostMemory: 0.001 }]) {
      const asked = { ...tiny, ...limit, into: await Run.create(at("limited")) };
      await expect(search(asked).result).rejects.toThrow("expected at least");
      expect(existsSync(at("limited"))).toBe(false);
    }
  });

  it.each<[string, SearchOptions, string]>([
    ["a budget below the cheapest network", { budget: "0.05" }, "budget: expected at least 1.00 ms"],
    ["fewer parameters than any network has", { mostParameters: 100 }, "most parameters: expected at least"],
    ["less memory than any network takes", { mostMemory: 0.001 }, "most memory: expected at least"],
    ["sizes that no layer can have", { candidates: "s:3,f" }, "divisible"],
    ["sizes that are no sizes", { candidates: "f:0,s" }, "candidates: expected letters s, f and i"],
    ["a pattern", { blocks: "sf", budget: null }, "front: expected blocks to choose"],
    ["what is about π", { settle: [0.2, 0.6] }, "got settle"],
    [
      "costs of another shape",
      { latency: { batch: 1, length: 1, memory: 8 } },
      "costs: expected those of 1x1+8, got those of 1x64+640",
    ],
    ["costs without a candidate", { candidates: "s,f:24,i" }, "none of feed-forward 24"],
  ])("refuses %s", async (_, changes, message) => {
    await expect(search({ ...tiny, ...changes }).result).rejects.toThrow(message);
  });
});
