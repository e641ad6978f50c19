/** Sentence pairs: Multi30k or a folder like it, plain or gzipped, and the tokenizer both languages share. */

import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { messageOf, reject, rejectFile } from "../../base/errors.ts";
import { sha256 } from "../../files/checksum.ts";
import { Allowance, type ReadLimits } from "../../format/limits.ts";
import type { Split } from "../corpus.ts";
import type { SentencePairs } from "../pairs/packing.ts";
import type { PairsCorpus } from "../pairs/pairs-corpus.ts";
import { type OpenTokenizer, tokenizerFromBytes } from "../tokenizer.ts";
import { type TrainingWatcher, trainingOptions } from "../vocabulary.ts";
import { defaultCacheFolder, keyOf } from "./cache.ts";
import { dataFolder } from "./corpus.ts";
import { keptTokenizer } from "./kept-tokenizer.ts";

/** Where pairs are looked for, and in which languages. */
export interface PairsOptions {
  /** Folder of datasets; LAYERWISE_DATA, or a folder in the cache, if not given. */
  data?: string;
  source?: string;
  target?: string;
  /** Told when something is fetched or trained. */
  say?: (message: string) => void;
}

/** The names a part goes by, in the order in which they are looked for. */
const partNames: Readonly<Record<Split, readonly string[]>> = {
  train: ["train"],
  valid: ["valid", "val", "dev"],
  test: ["test", "test_2016_flickr", "test2016"],
};

/** Opens `multi30k` (fetched if need be) or a folder with `train.en`, `train.de`, …, plain or as `.gz`. */
export async function openPairs(nameOrPath = "multi30k", options: PairsOptions = {}): Promise<PairsCorpus> {
  const data = dataFolder(options.data);
  let folder = [nameOrPath, join(data, nameOrPath)].find((path) => existsSync(path));
  if (folder === undefined && nameOrPath === "multi30k") {
    options.say?.(`fetching multi30k to ${data}`);
    const { fetchDataset } = await import("./datasets.ts");
    await fetchDataset("multi30k", { data });
    folder = join(data, nameOrPath);
  }
  if (folder === undefined) {
    const needed = "multi30k, or a folder with train, valid and test in two languages (train.en, train.de, …)";
    return reject({ who: "sentence pairs", needed, got: nameOrPath, remedy: "say with --data DIR where it lies" }, 2);
  }
  const corpus = { folder, sourceLanguage: options.source ?? "en", targetLanguage: options.target ?? "de" };
  return { ...corpus, name: `${basename(folder)} ${corpus.sourceLanguage}–${corpus.targetLanguage}` };
}

/** The pairs of a part. */
export function pairsOf(corpus: PairsCorpus, split: Split): SentencePairs {
  if (corpus.folder === undefined) return pairsInMemory(corpus, split);
  const source = readLanguage(corpus, split, corpus.sourceLanguage);
  const target = readLanguage(corpus, split, corpus.targetLanguage);
  if (source.length !== target.length || source.length === 0) {
    const got = `${source.length} and ${target.length}`;
    rejectFile({ who: `${corpus.name} / ${split}`, needed: "as many lines in both languages, at least one", got });
  }
  return { source, target };
}

function pairsInMemory({ name, parts = new Map() }: PairsCorpus, split: Split): SentencePairs {
  const got = `only ${[...parts.keys()].join(", ")}`;
  return parts.get(split) ?? reject({ who: `pairs ${name}`, needed: `a ${split} part`, got }, 2);
}

function readLanguage({ folder = "" }: PairsCorpus, split: Split, language: string): string[] {
  const names = partNames[split].flatMap((part) => [`${part}.${language}`, `${part}.${language}.gz`]);
  const path = names.map((name) => join(folder, name)).find((each) => existsSync(each));
  if (path === undefined) {
    return reject({ who: folder, needed: `one of ${names.join(", ")}`, got: "none", remedy: "name the languages" }, 2);
  }
  return linesOfFile(path);
}

/** Lines of a text file, gzipped or not, without spaces at their ends. */
export function linesOfFile(
  path: string,
  read: () => Uint8Array = () => readFileSync(path),
  limits: ReadLimits = {},
): string[] {
  try {
    const bytes = read();
    const { limit: maxOutputLength } = new Allowance(path, bytes.length, limits);
    const unpacked = path.endsWith(".gz") ? gunzipSync(bytes, { maxOutputLength }) : bytes;
    const text = new TextDecoder("utf-8", { fatal: true }).decode(unpacked);
    return text
      .replace(/\r?\n$/, "")
      .split(/\r?\n/)
      .map((line) => line.trim());
  } catch (error) {
    const got = messageOf(error);
    const remedy = got.includes("larger than") ? "if you trust the file, unpack it or raise maxBytes" : undefined;
    return rejectFile({ who: path, needed: "lines of UTF-8 text", got, remedy });
  }
}

/** A cased tokenizer trained on the training lines of both languages; of files once, then kept in the cache. */
export async function jointTokenizer(
  corpus: PairsCorpus,
  { pieces, cache = defaultCacheFolder(), say, onStep }: TrainingWatcher & { pieces: number; cache?: string },
): Promise<OpenTokenizer> {
  const { source, target } = pairsOf(corpus, "train");
  // Every letter has a piece: an unknown one would stand in translations as such.
  const training = trainingOptions({ pieces, cased: true, coverage: 1 });
  const made = async () => {
    const { trainModelOn } = await import("../tokenizer-training.ts");
    return trainModelOn([...source, ...target], `both sides of ${corpus.name}`, training, { say, onStep });
  };
  const named = <T extends OpenTokenizer>(opened: T): T => ({ ...opened, name: `joint-${opened.tokenizer.size}` });
  if (corpus.folder === undefined) return named(await tokenizerFromBytes(await made(), corpus.name));
  const content = sha256(new TextEncoder().encode([...source, ...target].join("\n")));
  const key = keyOf("joint unigram 1", JSON.stringify(training), content);
  return named(await keptTokenizer(cache, key, made, say));
}
