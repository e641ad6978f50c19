/** Redis or Valkey: addresses, connections that outlive restarts, and the packages they need. The only file that loads bullmq and ioredis, when a queue is asked for. */
import type * as Bull from "bullmq";
import type { Redis } from "ioredis";
import { messageOf, reject } from "../../base/errors.ts";
import { packageVersion } from "../../tasks/environment.ts";

/** Where the address of the queue stands if the command line does not say it. */
export const QUEUE_VARIABLE = "LAYERWISE_QUEUE";

const INSTALL = "install them with: npm install bullmq@6.7.0 ioredis@6.0.0";

/** A server that answers, and the queue of this version on it. */
export interface Link {
  /** For keys of our own. */
  readonly redis: Redis;
  readonly bull: typeof Bull;
  /** The address without its credentials, for people. */
  readonly shown: string;
  /** Another connection, closed with the link. */
  connection(): Redis;
  close(): Promise<void>;
}

/** The queue of the trials: versions do not share one. */
export const queueName = (version: string = packageVersion()): string => `layerwise-${version}`;

/** Whether a launcher's name is the address of a queue. */
export const isAddress = (text: string): boolean =>
  /^(redis|rediss|valkey|valkeys|postgres|postgresql)(:\/\/|$)/.test(text);

/** The address of a queue from a flag, or from the environment where that has none: `redis`, or nothing. */
export function addressFrom(text: string | undefined, who: string): string {
  const given = text === undefined || text === "redis" || text === "valkey" ? process.env[QUEUE_VARIABLE] : text;
  const needed = "the address of a Redis or Valkey, such as redis://host:6379";
  if (!given) return reject({ who, needed, got: "none", remedy: `give it, or set ${QUEUE_VARIABLE}` }, 2);
  if (/^postgres/.test(given)) {
    const remedy = "start redis-server or valkey-server: trials' files and leases go through it";
    return reject({ who, needed, got: "postgres, which is not offered", remedy }, 2);
  }
  const address = given.replace(/^valkey/, "redis");
  if (!/^rediss?:\/\/[^/]/.test(address) || !URL.canParse(address)) reject({ who, needed, got: redacted(given) }, 2);
  return address;
}

/** An address as it may be shown: without user and password. */
export function redacted(address: string): string {
  return address.replace(/\/\/.*@/, "//***@").replace(/([?&](?:password|username)=)[^&]*/g, "$1***");
}

/** Connects, or says in words why not. `heard` is told when the server goes away and when it is back. */
export async function openLink(address: string, who: string, heard: (text: string) => void): Promise<Link> {
  const [bull, { Redis }] = await packages(who);
  const shown = redacted(address);
  await probe(Redis, address, shown);
  const open: Redis[] = [];
  const connection = () => {
    const made = new Redis(address, { maxRetriesPerRequest: null, retryStrategy: (n) => Math.min(100 * n, 1000) });
    made.on("error", () => {}); // said once, below
    open.push(made);
    return made;
  };
  const redis = connection();
  let isAway = false;
  redis.on("close", () => {
    if (!isAway && open.length > 0) heard(`${shown} does not answer; waiting for it`);
    isAway = true;
  });
  redis.on("ready", () => {
    if (isAway) heard(`${shown} is back`);
    isAway = false;
  });
  const close = async () => {
    for (const each of open.splice(0)) each.disconnect();
  };
  return { redis, bull, shown, connection, close };
}

async function packages(who: string): Promise<[typeof Bull, { Redis: typeof Redis }]> {
  try {
    return [await import("bullmq"), await import("ioredis")];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    return reject({ who, needed: "the packages bullmq and ioredis for a queue", got: "none", remedy: INSTALL }, 2);
  }
}

const CONNECT_MS = 5000;

/** One try: whoever waits for a server that is not there should know. */
async function probe(Client: typeof Redis, address: string, shown: string): Promise<void> {
  const once = new Client(address, { lazyConnect: true, retryStrategy: null, connectTimeout: CONNECT_MS });
  let last: unknown;
  once.on("error", (error) => {
    last = error;
  });
  try {
    await once.connect();
    await once.ping();
  } catch (error) {
    refuse(shown, messageOf(last ?? error) || messageOf(error));
  } finally {
    once.disconnect();
  }
}

function refuse(shown: string, why: string): never {
  if (/NOAUTH|WRONGPASS|NOPERM|AUTH/.test(why)) {
    const remedy = `put user and password into the address, redis://user:password@host, or into ${QUEUE_VARIABLE}`;
    reject({ who: shown, needed: "a server that lets us in", got: why, remedy }, 2);
  }
  const remedy = "start redis-server or valkey-server there, and see that this machine may reach it";
  reject({ who: shown, needed: "a Redis or Valkey that answers", got: why, remedy });
}
