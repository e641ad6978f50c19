/** The whole walk of a search as a user of the command line takes it: data, search, retrain, generate. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { layerwise } from "./layerwise.ts";

/** What a search over four blocks finds on the embedded books in a few seconds; longer ones find better networks. */
export function example(steps = 60) {
  const folder = mkdtempSync(join(tmpdir(), "layerwise-example-"));
  try {
    const [search, found] = [join(folder, "search"), join(folder, "found")];
    const data = ["--corpus", "books", "--pieces", "600", "--cutoffs", "60,240"];
    const model = ["--blocks", "4", "--width", "32", "--heads", "2", "--hidden", "64", "--memory", "8"];
    const training = ["--batch", "8", "--length", "16", "--steps", `${steps}`, "--warmup", "10", "--rate", "0.01"];
    const small = ["--evaluation-batch", "32", "--evaluation-length", "64", "--latency", "1x16+32", "--threads", "1"];
    const first = layerwise("search", ...data, ...model, ...training, ...small, "--json", "--out", search);
    // As long as the search, from scratch, beside (sf)x2; on a real text compare --from-supernet too.
    const second = layerwise("retrain", search, "--threads", "1", "--json", "--out", found);
    const text = layerwise("generate", found, "--prompt", "it was", "--tokens", "20", "--evaluation-memory", "32");
    return { searched: JSON.parse(first), retrained: JSON.parse(second), text };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (process.argv[1]?.includes("examples")) {
  const { searched, retrained, text } = example();
  console.log(searched.pattern, retrained.ratios, text);
}
