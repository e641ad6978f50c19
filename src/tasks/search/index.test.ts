import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { tinySearch } from "../../../test/tiny-search.ts";
import type { Engine } from "../../engine/engine.ts";
import { ortEngine } from "../../engine/ort.ts";
import type { Corpus } from "../../text/corpus.ts";
import { openCorpus } from "../../text/files/corpus.ts";
import type { Session } from "../../train/session.ts";
import type { TaskEvent } from "../job.ts";
import { Run } from "../run.ts";
import { openSearchJob, retrain, type SearchOptions, search } from "./index.ts";
import { splitSearch } from "./options.ts";

const folder = ownFolder("search-api");
const at = (name: string) => join(folder, name);

let [engine, corpus, tiny]: [Engine, Corpus, SearchOptions] = [] as never;
beforeAll(async () => {
  [engine, corpus] = [await ortEngine({ threads: 1 }), await openCorpus("books")];
  tiny = {
    data: { corpus },
    engine,
    ...tinySearch,
    blocks: 2,
    steps: 8,
    evaluateEvery: 4,
    latency: { batch: 1, length: 8, memory: 8 },
  };
});

const numbersOf = ({ weights }: { weights: ReadonlyMap<unknown, Float32Array> }) => [...weights.values()];

async function lossesOf(session: Session<TaskEvent, unknown>): Promise<number[]> {
  const losses: number[] = [];
  for await (const event of session) if (event.type === "step") losses.push(event.loss);
  return losses;
}

describe("a search of a program's own text", () => {
  it("is stopped by leaving its events, and goes on to the same network once it has its text again", async () => {
    const session = search({ ...tiny, into: await Run.create(at("stopped")) });
    for await (const event of session) if (event.type === "evaluation") break;
    expect(await session.result).toMatchObject({ reason: "stopped", steps: 4 });
    expect(existsSync(join(at("stopped"), "architecture.json"))).toBe(false);
    expect(readFileSync(join(at("stopped"), "config.yaml"), "utf8")).toMatch(/corpus: "?memory:books/);
    await expect(Run.resume(at("stopped"), { engine }).result).rejects.toThrow(
      "corpus memory:books: expected the text that a program gave when the run began, got none; pass it: run.resume({ corpus })",
    );
    const run = await Run.open(at("stopped"), "search", { engine });
    const resumed = await run.resume({ engine, corpus }).result;
    const whole = await search(tiny).result;
    expect(numbersOf(resumed)).toEqual(numbersOf(whole));
    expect([resumed.reason, resumed.probabilities]).toEqual(["finished", whole.probabilities]);
  });

  it("trains a depth in words instead, which goes on to the same bits and keeps its sharing", async () => {
    const { blocks: _, ...free } = tiny;
    const asked = { ...free, depth: "(sf)x1*2" };
    const session = search({ ...asked, into: await Run.create(at("shared")) });
    for await (const event of session) if (event.type === "step" && event.step === 3) break;
    await session.result;
    const run = await Run.open(at("shared"), "search", { engine, checkpoint: "last" });
    expect([run.model.options.blocks, run.model.options.plan]).toEqual(["(sf)x2", [0, 1, 0, 1]]);
    expect(numbersOf(await run.resume({ engine, corpus }).result)).toEqual(numbersOf(await search(asked).result));
    expect(() => splitSearch({ ...asked, blocks: 4 })).toThrow('got blocks 4 beside "(sf)x1*2"');
    expect(() => splitSearch({ ...asked, depth: "1*2 halt" })).toThrow("expected letters, + and * alone");
  });

  it("gives what it found again when a run that has ended is resumed", async () => {
    const again = await (await Run.open(at("stopped"), "search")).resume({ engine, corpus }).result;
    const { found } = await Run.open(at("stopped"), "search");
    expect(again).toMatchObject({ ...found, reason: "finished" });
  });
});

describe("a preset of a search", () => {
  it("lies below what is given, and a length that is given ends its own", () => {
    const { settings } = splitSearch({ preset: "quick", width: 32, epochs: 0.01 });
    expect(settings).toMatchObject({ blocks: 6, width: 32, feedForward: 384, steps: null, epochs: 0.01 });
    expect(() => splitSearch({ preset: "quik" })).toThrow(/one of quick, .*got quik; did you mean quick\?/);
  });
});

describe("a found network", () => {
  it("is retrained beside the baseline, in memory as in folders", async () => {
    const found = await search({ ...tiny, budget: { fraction: 0.9 }, settle: [0.2, 0.8], cutEvery: 2 }).result;
    const inMemory = await retrain(found, { data: { corpus }, engine }).result;
    const kept = await retrain(found, { data: { corpus }, engine, into: await Run.create(at("network")) }).result;
    expect([inMemory.network.pattern, inMemory.baseline!.pattern]).toEqual([found.pattern, "sf"]);
    expect(numbersOf(inMemory.network)).toEqual(numbersOf(kept.network));
    expect(numbersOf(inMemory.baseline!)).toEqual(numbersOf(kept.baseline!));
    expect(kept.baseline!.run).toBe(`${at("network")}-baseline`);
    expect((await Run.open(at("network"))).kind).toBe("retrain");
  });

  it("starts from the search's weights where asked", async () => {
    const found = await search({ ...tiny, steps: 30, rate: 0.01 }).result;
    const options = { data: { corpus }, engine, steps: 1, baseline: false };
    const [scratch] = await lossesOf(retrain(found, options));
    const [warm] = await lossesOf(retrain(found, { ...options, fromSupernet: true }));
    expect(warm).toBeLessThan(scratch! - 0.1);
    await expect(retrain("sf", { ...options, fromSupernet: true }).result).rejects.toThrow(
      "a search with weights, got sf",
    );
  });

  it("keeps what a stopped retraining has come to", async () => {
    const { blocks: _, ...settings } = tiny;
    const session = retrain("sf", { ...settings, into: await Run.create(at("half")) });
    for await (const event of session) if (event.type === "step") break;
    const { reason, network, baseline } = await session.result;
    expect([reason, network.parameters > 0, network.latencyMs, baseline]).toEqual(["stopped", true, Number.NaN, null]);
    const run = await Run.open(at("half"), "retrain");
    expect((await run.resume({ engine, corpus }).result).baseline!.pattern).toBe("sf");
  });
});

describe("options of a search", () => {
  it("that it does not have are refused, with what was probably meant", async () => {
    const unknown = { ...tiny, evaluateEach: 3 };
    await expect(search(unknown).result).rejects.toThrow(
      /^search: expected options among .*, got evaluateEach; did you mean evaluateEvery\?$/,
    );
    const searched = { data: { corpus }, cutEvery: 3 };
    await expect(retrain("sf", searched).result).rejects.toThrow(/^retrain: .*, got cutEvery/);
  });

  it("say how many checkpoints are kept, and which engine runs where none is given", async () => {
    const job = await openSearchJob({ ...tiny, engine: undefined, blocks: "sf", keep: 1, threads: 1 });
    expect([job.keep, job.engine.threads, job.engine.device]).toEqual([1, 1, "cpu"]);
  });

  it("take the budget as a fraction, in milliseconds, or as text", async () => {
    for (const budget of [{ fraction: -1 }, { ms: 0 }, "cheap"]) {
      await expect(search({ ...tiny, budget }).result).rejects.toThrow("budget: expected milliseconds above 0");
    }
  });
});
