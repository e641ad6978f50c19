import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { partOf } from "../corpus.ts";
import { documentsOf } from "../masked/documents.ts";
import { PretrainingStream } from "../masked/examples.ts";
import { openCorpus } from "./corpus.ts";
import { buildPretraining, inspectExamples, readPretrainingFiles } from "./masked.ts";
import { openTokenizer } from "./tokenizer.ts";

const SHARED = "../shared/data";
const root = ownFolder("pretraining");

describe.runIf(existsSync(SHARED))("stored pre-training data", () => {
  it("holds the stream's examples, dealt out to shards", async () => {
    const opened = await openTokenizer("albert-30k", { data: SHARED });
    const books = await openCorpus("books");
    const corpus = { ...books, parts: new Map([["valid", partOf(books, "valid")] as const]) };
    const out = join(root, "out");
    const examples = { length: 64, seed: 5 };
    const [report] = await buildPretraining(corpus, opened, { out, passes: 2, shards: 2, examples });
    expect(readdirSync(join(out, "books_valid"))).toEqual(["file1.tfrecords", "file2.tfrecords"]);

    const stored = [];
    const paths = [1, 2].map((i) => join(out, `books_valid/file${i}.tfrecords`));
    for await (const example of readPretrainingFiles(paths, opened.tokenizer.size)) stored.push(example);
    expect(stored).toHaveLength(report!.examples);
    const stream = new PretrainingStream(documentsOf(books, "valid", opened), opened.tokenizer, examples);
    const drawn = Array.from(stored, () => stream.next());
    expect(stored).toEqual([...drawn.filter((_, i) => i % 2 === 0), ...drawn.filter((_, i) => i % 2 === 1)]);
    expect(stream.position).toEqual({ pass: 1, index: stream.passLength });

    const files = await inspectExamples(await openCorpus(out));
    expect(files.map(({ split, length }) => [split, length])).toEqual([
      ["valid", 64],
      ["valid", 64],
    ]);
    expect(files[0]!.examples + files[1]!.examples).toBe(stored.length);
    expect(files[0]!.masked / files[0]!.tokens).toBeCloseTo(0.15, 1);
  });

  it("takes WikiText's articles for documents", async () => {
    const opened = await openTokenizer("albert-30k", { data: SHARED });
    const corpus = await openCorpus("wikitext-2", { data: SHARED });
    const documents = documentsOf(corpus, "valid", opened);
    expect(documents).toHaveLength(60); // articles in WikiText-2 valid
    expect(documents.every((document) => document.length > 3)).toBe(true);
  });
});
