import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { tinySearch } from "../../../../test/tiny-search.ts";
import { ortEngine } from "../../../engine/ort.ts";
import { openCorpus } from "../../../text/files/corpus.ts";
import { Run } from "../../run.ts";
import { retrainFront, search } from "../index.ts";

const folder = mkdtempSync(join(tmpdir(), "layerwise-null-"));
afterAll(() => rmSync(folder, { recursive: true }));

const latency = { batch: 1, length: 8, memory: 4 };
const costs = {
  ...{ shape: latency, threads: 1, rest: { flops: 1, ms: 1 } },
  candidates: [
    { name: "attention", flops: 1, ms: 3 },
    { name: "feed-forward", flops: 1, ms: 1 },
    { name: "identity", flops: 0, ms: 0 },
  ],
};

describe("the null test of a search without a front", () => {
  it("has random networks of no more latency than the found one, or than its budget", async () => {
    const given = { data: { corpus: await openCorpus("books") }, engine: await ortEngine({ threads: 1 }), latency };
    const run = join(folder, "search");
    const asked = { ...given, ...tinySearch, costs, blocks: 3, steps: 2, budget: "0.8" };
    const { pattern, latency: found } = await search({ ...asked, into: await Run.create(run) }).result;
    const tested = { ...given, random: 2, steps: 1, baseline: false };
    const { networks, nullTest, ranked, tau } = await retrainFront(run, tested).result;
    expect(networks.map(({ name }) => name)).toEqual(["found", "random-1", "random-2"]);
    expect([networks[0]!.pattern, nullTest!.mostMs]).toEqual([pattern, Math.max(6.4, found!.chosenMs)]);
    expect([ranked, tau, networks.every(({ supernetPerplexity }) => supernetPerplexity === null)]).toEqual([
      0,
      Number.NaN,
      true,
    ]);
    await expect(retrainFront(run, { ...tested, budget: "0.1" }).result).rejects.toThrow(
      "which the found network takes",
    );
    await expect(retrainFront(run, { ...tested, race: 2 }).result).rejects.toThrow("without front.json");
  });
});
