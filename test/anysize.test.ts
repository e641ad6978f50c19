/** Text of any size: what reading it takes of memory does not depend on how much there is of it. */
import { spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { textCorpus } from "../src/text/corpus.ts";
import { trainTokenizer } from "../src/text/tokenizer-training.ts";
import { ownFolder } from "./command.ts";

const folder = ownFolder("anysize");
const model = join(folder, "small.model");

/** The books over and over, every line with a number of its own. */
function writeText(path: string, megabytes: number): void {
  const lines = readFileSync("corpus/books/valid.txt", "utf8").split("\n");
  const file = openSync(path, "w");
  for (let [written, index] = [0, 0]; written < megabytes * 1e6; ) {
    let block = "";
    while (block.length < 1e6) block += `${lines[index % lines.length]} ${(index++).toString(36)}\n`;
    written += writeSync(file, block);
  }
  closeSync(file);
}

/** Opens a text for training, reads batches from all over it, and says how much memory that took at most. */
const script = `
  const { openBatches, openCorpus, openTokenizer } = await import("./src/text/index.ts");
  const [corpus, tokenizer] = [await openCorpus(process.argv[1]), await openTokenizer(process.argv[2])];
  const cache = process.argv[1] + ".cache";
  let sum = 0;
  for (const split of ["train", "valid"]) {
    const source = await openBatches(corpus, split, tokenizer, { batch: 16, length: 64, cache });
    for (let i = 0; i < 100; i++) {
      sum += source.at(Math.floor((i / 100) * source.count)).ids[0];
      if (i % 10 === 0) gc(); // windows that were read and let go are not what is held
    }
  }
  console.log(process.resourceUsage().maxRSS / 1024, sum);
`;

/** Most memory of a process that tokenises a text, and of one that finds the tokens in the cache. */
function residentMb(megabytes: number): { building: number; reading: number } {
  const path = join(folder, `${megabytes}.txt`);
  writeText(path, megabytes);
  const opened = () => {
    const args = ["--expose-gc", "--import", "tsx", "--input-type=module", "-e", script, path, model];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    expect(Number.parseFloat(stdout), stderr).toBeGreaterThan(50);
    return Number.parseFloat(stdout);
  };
  return { building: opened(), reading: opened() };
}

it("Eight times the text takes no more memory", async () => {
  const text = readFileSync("corpus/books/valid.txt", "utf8").slice(0, 60_000);
  writeFileSync(model, (await trainTokenizer(textCorpus({ train: text }), { pieces: 400 })).bytes);
  const [some, much] = [residentMb(12), residentMb(96)];
  // 84 MB of text more have 84 MB of ids, which were read whole and copied before; the heap of one process differs from another's by some 20 MB.
  expect(much.reading - some.reading).toBeLessThan(42);
  expect(much.building).toBeLessThan(400); // 262 MB; of 2 GB 340: what threads have not yet collected levels off
}, 180_000);
