/** A disk that is full at random moments: a ballast file takes what is free, stays for a while and goes. */
import { rmSync, statfsSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RandomStream } from "../../src/base/random.ts";

const BLOCK = Buffer.alloc(1 << 16);
const MOST_MB = 1024;

/** How often the disk was filled; `stop` ends it and frees the space. */
export interface UnsteadyDisk {
  readonly filled: () => number;
  readonly stop: () => Promise<void>;
}

/** Fills and frees the file system of `folder`, which must be a small one that was made for this. */
export function unsteadyDisk(folder: string, random: RandomStream): UnsteadyDisk {
  const { bavail, bsize } = statfsSync(folder);
  if ((bavail * bsize) / 2 ** 20 > MOST_MB)
    throw new Error(
      `--fill: ${folder} has more than ${MOST_MB} MB free; mount a small file system there and name it with --out`,
    );
  const ballast = join(folder, "ballast");
  const ended = new AbortController();
  let count = 0;
  const pause = (ms: number) => sleep(ms, undefined, { signal: ended.signal }).catch(() => {});
  const work = (async () => {
    while (!ended.signal.aborted) {
      await pause(random.integer(1500));
      await fill(ballast);
      count++;
      await pause(random.integer(600));
      rmSync(ballast, { force: true });
    }
  })();
  return {
    filled: () => count,
    stop: async () => {
      ended.abort();
      await work;
    },
  };
}

async function fill(path: string): Promise<void> {
  const file = await open(path, "w");
  try {
    for (;;) await file.write(BLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    await file.close();
  }
}
