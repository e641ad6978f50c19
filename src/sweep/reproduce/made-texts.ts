/** Texts for the smallest size, made of the embedded books: pairs to translate and sentences to classify, which try the code and prove nothing. */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeAtomically } from "../../files/atomic.ts";
import { linesOf, type Split } from "../../text/corpus.ts";
import { openCorpus } from "../../text/files/corpus.ts";

const WORDS = 6;

/** The first words of lines of the books, each line once. */
async function phrases(split: Split, count: number): Promise<string[]> {
  const found = new Set<string>();
  for (const line of linesOf(await openCorpus("books"), split)) {
    const words = line.toLowerCase().match(/[a-z]+/g) ?? [];
    if (words.length >= WORDS) found.add(words.slice(0, WORDS).join(" "));
    if (found.size === count) break;
  }
  return [...found];
}

async function keep(folder: string, files: Readonly<Record<string, readonly string[]>>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, lines] of Object.entries(files)) {
    if (!existsSync(join(folder, name))) await writeAtomically(join(folder, name), `${lines.join("\n")}\n`);
  }
}

const backwards = (text: string) => text.split(" ").toReversed().join(" ");

/** Pairs in a folder: a phrase, and its words backwards. */
export async function makePairs(folder: string): Promise<void> {
  for (const [split, count] of [
    ["train", 60],
    ["valid", 8],
    ["test", 4],
  ] as const) {
    const lines = await phrases(split, count);
    await keep(folder, { [`${split}.en`]: lines, [`${split}.de`]: lines.map(backwards) });
  }
}

/** Sentences in the form of SST-2: 1 where a phrase has more letters than most. */
export async function makeSentences(folder: string): Promise<void> {
  for (const [file, split, count] of [
    ["train.tsv", "train", 32],
    ["dev.tsv", "valid", 16],
  ] as const) {
    const lines = (await phrases(split, count)).map((text) => `${text}\t${text.length > 26 ? 1 : 0}`);
    await keep(folder, { [file]: ["sentence\tlabel", ...lines] });
  }
}
