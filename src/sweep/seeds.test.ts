import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder } from "../../test/command.ts";
import { tinySearch } from "../../test/tiny-search.ts";
import type { Engine } from "../engine/engine.ts";
import { ortEngine } from "../engine/ort.ts";
import { Run } from "../tasks/run.ts";
import type { Corpus } from "../text/corpus.ts";
import { openCorpus } from "../text/files/corpus.ts";
import { resumeSweep, type SeedSearchOptions, searchSeeds } from "./seeds.ts";

const folder = ownFolder("seeds");
const at = (name: string) => join(folder, name);

let [engine, corpus, tiny]: [Engine, Corpus, Omit<SeedSearchOptions, "into">] = [] as never;
beforeAll(async () => {
  [engine, corpus] = [await ortEngine({ threads: 1 }), await openCorpus("books")];
  const latency = { batch: 1, length: 8, memory: 8 };
  tiny = { data: { corpus }, engine, ...tinySearch, blocks: 2, steps: 2, evaluateEvery: 1, latency, seeds: [3, 5] };
});

describe("a search from several seeds", () => {
  it("is a sweep with a row for each, stopped and gone on with, and opens as the one that was chosen", async () => {
    const session = searchSeeds({ ...tiny, into: at("seeds") });
    for await (const event of session) if (event.type === "event" && event.event.type === "step") break;
    expect(await session.result).toMatchObject({ reason: "stopped", found: null });
    expect([existsSync(join(at("seeds"), "seed-5")), existsSync(join(at("seeds"), "sweep.yaml"))]).toEqual([
      false,
      true,
    ]);
    await expect(Run.resume(at("seeds")).result).rejects.toThrow("expected a single run, got a sweep over seeds");
    const { found, spec } = await resumeSweep(at("seeds"), { engine, corpus }).result;
    expect([found!.seeds.map((row) => row.seed), spec.seeds]).toEqual([
      [3, 5],
      [3, 5],
    ]);
    const run = await Run.open(at("seeds"), "seeds", { engine, corpus });
    expect([run.path, run.seed, run.seeds]).toEqual([at("seeds"), found!.seed, found!.seeds]);
    const { perplexity } = await run.evaluate();
    expect(perplexity).toBeCloseTo(run.found!.perplexity, 8);
    expect(Object.keys(await run.exported())).toContain("model.safetensors");
  });

  it("goes on to the result of a seed that was killed between its end and its result", async () => {
    rmSync(join(at("seeds"), "seed-5", "architecture.json"));
    const { found } = await resumeSweep(at("seeds"), { engine, corpus }).result;
    expect(found!.seeds.map((row) => row.seed)).toEqual([3, 5]);
    expect(existsSync(join(at("seeds"), "seed-5", "architecture.json"))).toBe(true);
  });

  it("judges all by one measurement, and is made longer by more seeds", async () => {
    const { found } = await searchSeeds({ ...tiny, seeds: [3, 5, 4], into: at("seeds") }).result;
    expect(found!.seeds.map((row) => row.seed)).toEqual([3, 5, 4]);
    const costs = (...parts: string[]) => readFileSync(join(at("seeds"), ...parts, "costs.json"), "utf8");
    for (const seed of [3, 5, 4]) expect(costs(`seed-${seed}`)).toBe(costs());
  });

  it("for a front has the fronts of all seeds side by side, and keeps how far they agree", async () => {
    const asked = { ...tiny, front: true, networks: 6, rankBatches: 1, budget: "0.9", into: at("fronts") };
    const session = searchSeeds(asked);
    const notes: string[] = [];
    for await (const event of session) if (event.type === "note") notes.push(event.text);
    const { agreement, front, found } = await session.result;
    expect(agreement!.budgets.at(-1)!.networks.map(({ seed }) => seed)).toEqual([3, 5]);
    expect(agreement!.pairs.map(({ seeds }) => seeds)).toEqual([[3, 5]]);
    const own = agreement!.budgets.find(({ budget }) => Math.abs(budget - 0.9) < 1e-9)!.networks;
    expect(own.find(({ seed }) => seed === found!.seed)!.pattern).toBe(front!.chosen);
    expect(notes.at(-1)).toContain("agree: for each block, how many seeds took its commonest candidate");
    expect(JSON.parse(readFileSync(join(at("fronts"), "fronts.json"), "utf8")).budgets).toEqual(agreement!.budgets);
    expect((await resumeSweep(at("fronts"), { engine, corpus }).result).agreement).toEqual(agreement);
  });

  it("that cannot begin leaves no folder", async () => {
    const bad = { ...tiny, cutoffs: [40, 40], into: at("bad") };
    await expect(searchSeeds(bad).result).rejects.toThrow("cutoffs");
    await expect(searchSeeds({ ...tiny, seeds: 0, into: at("bad") }).result).rejects.toThrow(
      "seeds: expected a number",
    );
    expect(existsSync(at("bad"))).toBe(false);
  });
});
