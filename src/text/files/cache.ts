/** The cache: where it lies, and how what is in it is named by all it was made from. */
import { join } from "node:path";
import { sha256 } from "../../files/checksum.ts";

/** Where caches lie: LAYERWISE_CACHE, or `.cache/layerwise` under the current folder. */
export function defaultCacheFolder(): string {
  return process.env.LAYERWISE_CACHE || join(".cache", "layerwise");
}

/** A short name for a list of facts, equal only if all are equal. */
export function keyOf(...facts: (string | number)[]): string {
  return sha256(JSON.stringify(facts)).slice(0, 32);
}
