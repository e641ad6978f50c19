import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { referenceEngine } from "../../engine/reference.ts";
import { buildDataset } from "../../text/files/build.ts";
import { openSearch, type SearchSession } from "./job.ts";

const folder = mkdtempSync(join(tmpdir(), "layerwise-session-"));
afterAll(() => rmSync(folder, { recursive: true }));

const tiny = { pieces: 300, width: 16, heads: 2, hidden: 32, blocks: 2, memory: 4, batch: 4, length: 8, cutoffs: [40] };

/** The tokenizer's ids of a batch's targets. */
async function targetsOf({ batches, ranks }: SearchSession, at: number): Promise<number[]> {
  const { targets } = (await batches("valid", 4)).at(at);
  return Array.from(targets!, (rank) => ranks.indexOf(rank));
}

describe("the data of a search", () => {
  it("may be the original's batches instead of text", async () => {
    const text = await openSearch(tiny, referenceEngine());
    const out = join(folder, "records");
    await buildDataset(text.corpus, text.tokenizer, { out, tfrecord: true, batch: 4, length: 8 });
    const records = await openSearch(
      { ...tiny, corpus: out, tokenizer: join(out, "tokenizer.model") },
      referenceEngine(),
    );
    for (const at of [0, 5]) expect(await targetsOf(records, at)).toEqual(await targetsOf(text, at));
    const { count, tokens = 0 } = await records.batches("valid", 4);
    expect(records.validSize.tokens).toBe(count * tokens);
    expect([...records.ranks].toSorted((a, b) => a - b)[299]).toBe(299);
  });
});
