/** A whole search on a page: searched, retrained and written with, to the losses of Node. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { bundle, executablePath, inNode, pagesIn, programFolder, root } from "./pages.ts";

const folder = programFolder();

const PROGRAM = `
import { generateText, retrain, search } from "layerwise/tasks";
import { textCorpus } from "layerwise/text";

const small = { pieces: 120, width: 16, heads: 2, hidden: 32, memory: 4, cutoffs: [], dropout: 0.1, batch: 4, length: 8, rate: 0.004, warmup: 2, checkpointEvery: 50 };

export async function run(text) {
  const corpus = textCorpus({ train: text }, "tale");
  const losses = [];
  const drained = async (session) => {
    for await (const event of session) if (event.type === "step") losses.push(event.loss);
    return session.result;
  };
  const searching = { ...small, blocks: 3, candidates: "s,f", steps: 16, evaluateEvery: 8, architectureRate: 0.05, settle: [0.25, 0.75], cutEvery: 4 };
  const found = await drained(search({ ...searching, data: { corpus } }));
  const { tokenizer } = found;
  const { network } = await drained(retrain(found, { steps: 8, evaluateEvery: 8, baseline: false, data: { corpus, tokenizer } }));
  let said = "";
  for await (const piece of generateText(network, { prompt: "The", maxTokens: 8, temperature: 0 })) said += piece;
  return { losses, pattern: found.pattern, said };
}
`;

interface Outcome {
  losses: number[];
  pattern: string;
  said: string;
}

const text = readFileSync(join(root, "corpus", "books", "valid.txt"), "utf8").slice(0, 12_000);

describe.skipIf(executablePath === undefined)("a search on a page", () => {
  const open = pagesIn(folder);
  beforeAll(() => bundle(folder, "page", PROGRAM));

  it("is retrained and written with, to the losses of Node", async () => {
    const there = (await open("page", [`program.run(${JSON.stringify(text)})`])).values[0] as Outcome;
    const here = inNode(folder, PROGRAM.replace("layerwise/tasks", "layerwise/tasks/search"), text) as Outcome;
    expect(there.losses).toHaveLength(24);
    expect(Math.max(...there.losses.map((loss, i) => Math.abs(loss - here.losses[i]!)))).toBeLessThan(1e-4);
    expect({ pattern: there.pattern, said: there.said }).toEqual({ pattern: here.pattern, said: here.said });
    expect(there.said.length).toBeGreaterThan(0);
  });
});
