/** Tokenizers in the cache: each under the key of what it was trained from and the hash of its bytes, so that damage shows. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { writeToCache } from "../../files/atomic.ts";
import { sha256 } from "../../files/checksum.ts";
import { openTokenizer, type TokenizerFile } from "./tokenizer.ts";

const HASH_LENGTH = 32;

/** The tokenizer of a key, out of the cache or trained and put there; one that is damaged is said to be, and trained again. */
export async function keptTokenizer(
  cache: string,
  key: string,
  train: () => Promise<Uint8Array>,
  say: (message: string) => void = () => {},
): Promise<TokenizerFile> {
  const folder = join(cache, "tokenizers");
  const kept = namesIn(folder).find((name) => name.startsWith(`${key}-`) && name.endsWith(".model"));
  if (kept !== undefined) {
    const opened = await whole(join(folder, kept), kept.slice(key.length + 1, -".model".length));
    if (opened) return opened;
    say(`${join(folder, kept)} is damaged; trained again`);
  }
  const bytes = await train();
  const path = join(folder, `${key}-${sha256(bytes).slice(0, HASH_LENGTH)}.model`);
  await writeToCache(path, bytes);
  return openTokenizer(path);
}

const namesIn = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);

async function whole(path: string, hash: string): Promise<TokenizerFile | undefined> {
  const opened = await openTokenizer(path).catch(() => undefined);
  return opened?.sha256.startsWith(hash) && hash.length === HASH_LENGTH ? opened : undefined;
}
