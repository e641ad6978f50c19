/** Tokenizers by name or file, with the hash that identifies them. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { reject } from "../../base/errors.ts";
import { sha256 } from "../../files/checksum.ts";
import type { Release } from "../sentencepiece/unigram.ts";
import { type OpenTokenizer, readTokenizer } from "../tokenizer.ts";
import { dataFolder } from "./corpus.ts";

/** A tokenizer out of a file. */
export interface TokenizerFile extends OpenTokenizer {
  readonly path: string;
}

/** Where a tokenizer is looked for, and how it is read. */
export interface TokenizerPlace {
  /** Folder of datasets and tokenizers. */
  data?: string | undefined;
  /** SentencePiece release to follow in ties. Default: 0.2.2. */
  release?: Release | undefined;
}

/** Opens a SentencePiece model or a tokenizer.json, or `NAME.model` in the data folder or its `tokenizers` folder. */
export async function openTokenizer(
  nameOrFile: string,
  { data, release }: TokenizerPlace = {},
): Promise<TokenizerFile> {
  const folder = dataFolder(data);
  const places = [nameOrFile, join(folder, "tokenizers", `${nameOrFile}.model`), join(folder, `${nameOrFile}.model`)];
  const path = places.find((place) => existsSync(place) && statSync(place).isFile());
  if (path === undefined) rejectMissing(nameOrFile, folder);
  const bytes = await readFile(path);
  return {
    tokenizer: await readTokenizer(bytes, path, release),
    sha256: sha256(bytes),
    bytes,
    path,
    name: basename(path).replace(/\.(model|json)$/, ""),
  };
}

function rejectMissing(name: string, folder: string): never {
  const named = [folder, join(folder, "tokenizers")].flatMap(modelsIn);
  reject(
    {
      who: "tokenizer",
      needed: `a model file${named.length > 0 ? ` or one of ${named.join(", ")}` : ""}`,
      got: `${name}, which is neither here nor under ${folder}`,
      remedy: "train one with `layerwise tokenizer train`, or say with --data DIR where models lie",
    },
    2,
  );
}

function modelsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => (name.endsWith(".model") ? [basename(name, ".model")] : []));
}
