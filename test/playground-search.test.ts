/** What the search of the playground finds, with its own settings, in Node. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ortEngine } from "../src/engine/ort.ts";
import { search } from "../src/tasks/search/index.ts";
import { searchSettingsOf } from "../web/playground/search-recipe.ts";

const folder = mkdtempSync(join(tmpdir(), "layerwise-recipe-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the playground's search", () => {
  it("finds attention where it pays, decides every block and keeps to its budget", { timeout: 300_000 }, async () => {
    const corpus = join(folder, "alice.txt");
    const books = readFileSync(new URL("../corpus/books/train.txt", import.meta.url), "utf8");
    writeFileSync(corpus, books.slice(0, books.indexOf("To Sherlock Holmes she is always")));
    const recipe = searchSettingsOf({ steps: 300, blocks: 6, budget: 0.7, batch: 16 });
    const engine = await ortEngine({ threads: 1 });
    const session = search({ corpus, pieces: 100, seed: 1, steps: 300, ...recipe, engine });
    const { pattern, probabilities, latency, targetMs } = await session.result;
    expect(pattern).toMatch(/s/);
    expect(pattern).toMatch(/f/);
    for (const block of probabilities) expect(Math.max(...block)).toBeGreaterThan(0.9);
    expect(latency!.chosenMs).toBeLessThanOrEqual(targetMs!);
  });

  it("lets blocks vanish where the budget is tight", () => {
    const wish = { steps: 300, blocks: 6, batch: 16 };
    const candidates = [0, 0.4, 0.7].map((budget) => searchSettingsOf({ ...wish, budget }).candidates);
    expect(candidates).toEqual(["s,f", "s,f,i", "s,f"]);
    expect(searchSettingsOf({ ...wish, blocks: 2, budget: 0.8 }).candidates).toBe("s,f,i");
  });
});
