import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { buildDataset } from "../../text/files/build.ts";
import { openSearch, type SearchParts } from "./parts.ts";
import { tinySearch } from "./tiny.contract.ts";

const folder = ownFolder("parts");

/** The tokenizer's ids of a batch's targets. */
function targetsOf({ batches, ranks }: SearchParts, at: number): number[] {
  return Array.from(batches.valid.at(at).targets!, (rank) => ranks.indexOf(rank));
}

describe("the data of a search", () => {
  it("may be the original's batches instead of text", async () => {
    const engine = referenceEngine();
    const text = await openSearch(tinySearch, { engine });
    const out = join(folder, "records");
    await buildDataset(text.corpus, text.tokenizer, { out, tfrecord: true, batch: 4, length: 8 });
    const records = await openSearch(
      { ...tinySearch, corpus: out, tokenizer: join(out, "tokenizer.model") },
      { engine },
    );
    for (const at of [0, 5]) expect(targetsOf(records, at)).toEqual(targetsOf(text, at));
    const { count, tokens = 0 } = records.batches.valid;
    expect(records.validText.tokens).toBe(count * tokens);
    expect([...records.ranks].toSorted((a, b) => a - b)[299]).toBe(299);
  });
});
