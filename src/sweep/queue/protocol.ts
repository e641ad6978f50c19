/** What launcher and workers agree on: the jobs, the keys beside BullMQ's own, and leases of trials. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { sha256 } from "../../files/checksum.ts";
import type { TrialReport } from "../processes.ts";

/** A trial as a job. */
export interface TrialJob {
  /** The id in the sweep's folder. */
  readonly sweep: string;
  readonly index: number;
  /** Of the run, within the sweep's. */
  readonly folder: string;
  /** The sweep's folder where the launcher runs; a worker that finds the same id there works in it. */
  readonly path: string;
  readonly cwd: string;
  /** The launcher has a part of the run, and sends it to a worker that asks. */
  readonly begun: boolean;
  /** What a worker needs to make a folder of its own: sweep.yaml, the trial's settings, the list of trials, latencies. */
  readonly files: Readonly<Record<string, string>>;
}

/** What a job ends with. */
export type TrialOutcome = "ended" | "stopped";

/** What a worker says of a job on the way. */
export interface TrialProgress {
  readonly worker: string;
  readonly report?: TrialReport | undefined;
}

/** A launcher or worker that lives, as it stands in the server. */
export interface Presence {
  readonly version: string;
  readonly name: string;
}

/** The file with a sweep's id on queues. */
export const QUEUE_FILE = "queue.json";

/** Seconds and counts of the protocol. A worker's event loop never blocks, so the queue's lock may be short. */
export const timing = {
  leaseMs: 10_000,
  renewMs: 1000,
  lockMs: 10_000,
  stalledMs: 5000,
  presenceMs: 15_000,
  /** After the server lost its data: time for workers to renew their leases before trials are queued again. */
  graceMs: 3000,
} as const;

/** Containers may have the same host and process numbers. */
const mark = randomBytes(2).toString("hex");

/** This process, for people and as the owner of leases. */
export const ownName = (): string => `${hostname()}-${process.pid}-${mark}`;

/** The keys of a sweep, and of those who live. */
export const keys = {
  launchers: "layerwise:launcher:",
  workers: "layerwise:worker:",
  queued: (sweep: string) => `layerwise:sweep:${sweep}:queued`,
  stop: (sweep: string) => `layerwise:sweep:${sweep}:stop`,
  wanted: (sweep: string) => `layerwise:sweep:${sweep}:wanted`,
  taken: (sweep: string) => `layerwise:sweep:${sweep}:taken`,
  lease: (sweep: string, index: number) => `layerwise:sweep:${sweep}:lease:${index}`,
  files: (sweep: string, index: number) => `layerwise:sweep:${sweep}:files:${index}`,
};

/** The id of a trial's job: its sweep, and a hash of its settings. */
export const jobId = (sweep: string, index: number, settings: string): string =>
  `${sweep}-${index}-${sha256(settings).slice(0, 16)}`;

/** The id of the sweep in a folder; undefined where there is none. */
export async function queueIdIn(path: string): Promise<string | undefined> {
  const file = join(path, QUEUE_FILE);
  if (!existsSync(file)) return undefined;
  return (JSON.parse(await readFile(file, "utf8")) as { id?: string }).id;
}

/** Writes that this process lives; the entry goes by itself soon after the process. */
export async function announce(redis: Redis, prefix: string, id: string, presence: Presence): Promise<void> {
  await redis.set(prefix + id, JSON.stringify(presence), "PX", timing.presenceMs);
}

/** Those who live. */
export async function present(redis: Redis, prefix: string): Promise<Presence[]> {
  const found = new Set<string>();
  let cursor = "0";
  do {
    const [next, some] = await redis.scan(cursor, "MATCH", `${prefix}*`, "COUNT", 1000);
    for (const key of some) found.add(key);
    cursor = next;
  } while (cursor !== "0");
  const texts = found.size === 0 ? [] : await redis.mget([...found]);
  return texts.flatMap((text) => (text === null ? [] : [JSON.parse(text) as Presence]));
}

const RENEW = `local owner = redis.call("get", KEYS[1])
if owner == false or owner == ARGV[1] then redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) return 1 end
return 0`;
const RELEASE = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`;

/** Takes or keeps a trial for its worker: false while another has it. It lapses some seconds after its worker's end, and outlives the queue's data. */
export async function holdLease(redis: Redis, key: string, owner: string): Promise<boolean> {
  return (await redis.eval(RENEW, 1, key, owner, timing.leaseMs)) === 1;
}

/** Gives a trial back. */
export async function releaseLease(redis: Redis, key: string, owner: string): Promise<void> {
  await redis.eval(RELEASE, 1, key, owner);
}
