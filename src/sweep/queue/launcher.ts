/** The launcher on a queue: trials as jobs of BullMQ on Redis or Valkey, for workers on any machine; the sweep's folder stays the truth. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Queue, QueueEvents } from "bullmq";
import { writeAtomically } from "../../files/atomic.ts";
import { lockHolder } from "../../files/lock.ts";
import { packageVersion } from "../../tasks/environment.ts";
import type { Launcher, SweepEvent } from "../launcher.ts";
import {
  divergedPath,
  hasEnded,
  runPath,
  type SweepFolder,
  stateOf,
  type TrialState,
  trialFiles,
  trialLocks,
} from "../sweep-folder.ts";
import { addressFrom, type Link, openLink, queueName } from "./connection.ts";
import {
  announce,
  jobId,
  keys,
  ownName,
  present,
  QUEUE_FILE,
  queueIdIn,
  type TrialJob,
  type TrialProgress,
  timing,
} from "./protocol.ts";
import { fetchFiles, readList, removeFiles, sendFiles } from "./run-files.ts";

/** Runs trials through the queue at an address, by whatever `layerwise worker --connect` are there. */
export function queueLauncher(address: string): Launcher {
  const checked = addressFrom(address, "--on");
  return {
    below: async () => {
      await (await openLink(checked, "--on", () => {})).close(); // a mistake shows before the folder is there
      return {};
    },
    async launch(folder, waiting, tell, signal) {
      const link = await openLink(checked, "--on", (text) => tell({ type: "note", text }));
      const launch = new QueueLaunch(link, folder, await sweepId(folder.path), tell);
      try {
        await launch.run(waiting, signal);
      } finally {
        await launch.close();
        await link.close();
      }
    },
  };
}

/** The sweep's name on queues: it stays with the folder. */
async function sweepId(path: string): Promise<string> {
  const known = await queueIdIn(path);
  if (known) return known;
  const id = randomBytes(8).toString("hex");
  await writeAtomically(join(path, QUEUE_FILE), `${JSON.stringify({ id })}\n`);
  return id;
}

const TICK_MS = 1000;
/** Every so many ticks what events may have missed is looked for. */
const LOOK_TICKS = 5;
const RECALL_MS = 60_000;

class QueueLaunch {
  readonly #link: Link;
  readonly #folder: SweepFolder;
  readonly #sweep: string;
  readonly #tell: (event: SweepEvent) => void;
  readonly #queue: Queue;
  readonly #events: QueueEvents;
  /** Trials that have not ended, by their job's id. */
  readonly #open = new Map<string, { trial: TrialState; job: TrialJob }>();
  /** The list of the files that were fetched last. */
  readonly #fetched = new Map<number, string>();
  readonly #warned = new Set<string>();
  #wake = () => {};
  /** Jobs whose end was heard of: why they failed, or null. */
  readonly #heard = new Map<string, string | null>();

  constructor(link: Link, folder: SweepFolder, sweep: string, tell: (event: SweepEvent) => void) {
    [this.#link, this.#folder, this.#sweep, this.#tell] = [link, folder, sweep, tell];
    const { Queue, QueueEvents } = link.bull;
    this.#queue = new Queue(queueName(), { connection: link.connection() });
    this.#events = new QueueEvents(queueName(), { connection: link.connection() });
    this.#queue.on("error", () => {}); // the link says it
    this.#events.on("error", () => {});
    const hear = (id: string, why: string | null) => {
      if (!this.#open.has(id)) return;
      this.#heard.set(id, why);
      this.#wake();
    };
    this.#events.on("completed", ({ jobId: id }) => hear(id, null));
    this.#events.on("failed", ({ jobId: id, failedReason }) => hear(id, failedReason));
    this.#events.on("progress", ({ jobId: id, data }) => this.#progress(id, data as TrialProgress));
  }

  async run(waiting: readonly TrialState[], signal: AbortSignal): Promise<void> {
    const wake = () => this.#wake();
    signal.addEventListener("abort", wake);
    try {
      await this.#events.waitUntilReady();
      for (const trial of waiting) await this.#prepare(trial);
      await this.#link.redis.del(keys.stop(this.#sweep));
      await this.#enqueue();
      for (let tick = 0; this.#open.size > 0 && !signal.aborted; tick++) {
        await this.#settleHeard();
        await this.#keepUp(tick % LOOK_TICKS === 0);
        if (this.#open.size > 0 && this.#heard.size === 0 && !signal.aborted) await this.#pause();
      }
      if (this.#open.size > 0) await Promise.race([this.#recall(), setTimeout(RECALL_MS, undefined, { ref: false })]);
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }

  async close(): Promise<void> {
    const { redis } = this.#link;
    const isThere = redis.status === "ready";
    if (isThere) await redis.del(keys.launchers + this.#sweep, keys.queued(this.#sweep));
    await Promise.race([
      Promise.all([this.#events.close(), this.#queue.close()]),
      setTimeout(TICK_MS, undefined, { ref: false }),
    ]);
  }

  async #prepare(trial: TrialState): Promise<void> {
    const { path } = this.#folder;
    const files = await trialFiles(path, trial.index);
    const id = jobId(this.#sweep, trial.index, files[`trials/${trial.index}.yaml`]!);
    const begun = trial.status !== "waiting";
    const { index, folder } = trial;
    const job = { sweep: this.#sweep, index, folder, path: resolve(path), cwd: process.cwd(), begun, files };
    this.#open.set(id, { trial, job });
  }

  /** Adds what the queue does not have; an id that it has is left as it is. */
  async #enqueue(): Promise<void> {
    await announce(this.#link.redis, keys.launchers, this.#sweep, { version: packageVersion(), name: ownName() });
    const opts = { removeOnComplete: true, removeOnFail: true };
    const jobs = [...this.#open].map(([id, { job }]) => ({ name: "trial", data: job, opts: { ...opts, jobId: id } }));
    await this.#queue.addBulk(jobs);
    await this.#link.redis.set(keys.queued(this.#sweep), "1");
  }

  #progress(id: string, { report }: TrialProgress): void {
    const open = this.#open.get(id);
    if (open) this.#tell({ type: "trial", trial: this.#folder.trials[open.trial.index]!, report });
  }

  #pause(): Promise<unknown> {
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    const stop = new AbortController();
    const slept = setTimeout(TICK_MS, undefined, { signal: stop.signal }).catch(() => {});
    return Promise.race([woken, slept]).finally(() => stop.abort());
  }

  async #settleHeard(): Promise<void> {
    for (const [id, why] of this.#heard) {
      this.#heard.delete(id);
      await this.#settle(id, why);
    }
  }

  /** Tells that a trial is over if it is: it ended, or failed. */
  async #settle(id: string, why: string | null): Promise<void> {
    const { trial } = this.#open.get(id) ?? {};
    if (!trial) return;
    await this.#receive(trial.index);
    const state = await stateOf(this.#folder, this.#folder.trials[trial.index]!);
    if (!hasEnded(state) && why === null) return; // stopped by its worker: another goes on
    this.#open.delete(id);
    if (hasEnded(state)) await this.#thank(trial.index);
    this.#tell({ type: "ended", trial: state, why: hasEnded(state) ? undefined : why! });
  }

  /** Takes what a worker without the shared folder has sent. */
  async #receive(index: number): Promise<void> {
    const { redis } = this.#link;
    const key = keys.files(this.#sweep, index);
    const list = await readList(redis, key);
    const path = runPath(this.#folder.path, this.#folder.trials[index]!);
    if (!list || this.#fetched.get(index) === JSON.stringify(list) || (await this.#isTaken(index))) return;
    const got = await fetchFiles(redis, key, path);
    if (!got) return;
    if (got.diverged !== undefined) await writeAtomically(divergedPath(this.#folder.path, index), got.diverged);
    this.#fetched.set(index, JSON.stringify(got));
  }

  /** Whether a worker that does see the folder has the trial, or has ended it. */
  async #isTaken(index: number): Promise<boolean> {
    const trial = this.#folder.trials[index]!;
    if (trialLocks(this.#folder.path, trial).some((lock) => lockHolder(lock)?.live)) return true;
    return hasEnded(await stateOf(this.#folder, trial));
  }

  /** Lets go of a trial's files on the server and at its worker. */
  async #thank(index: number): Promise<void> {
    const { redis } = this.#link;
    const key = keys.files(this.#sweep, index);
    if (!(await redis.exists(key))) return;
    await removeFiles(redis, key);
    await redis.hset(keys.taken(this.#sweep), `${index}`, "1");
    await redis.expire(keys.taken(this.#sweep), 24 * 3600);
  }

  /** What no event tells: that the server lost its data, files that workers want, trials that ended unheard, workers that do not fit. */
  async #keepUp(isLooking: boolean): Promise<void> {
    const { redis } = this.#link;
    await announce(redis, keys.launchers, this.#sweep, { version: packageVersion(), name: ownName() });
    if (!(await redis.exists(keys.queued(this.#sweep)))) await this.#queueAgain();
    for (let index = await this.#nextWanted(); index !== null; index = await this.#nextWanted()) {
      await this.#hand(Number(index));
    }
    if (!isLooking) return;
    for (const id of [...this.#open.keys()]) await this.#look(id);
    await this.#seeWorkers();
  }

  async #queueAgain(): Promise<void> {
    this.#tell({ type: "note", text: `${this.#link.shown} has lost its data: the trials are queued again` });
    await setTimeout(timing.graceMs);
    for (const [id, { trial }] of [...this.#open]) {
      const state = await stateOf(this.#folder, this.#folder.trials[trial.index]!);
      await this.#prepare(state);
      if (hasEnded(state)) await this.#settle(id, null);
    }
    await this.#enqueue();
  }

  #nextWanted(): Promise<string | null> {
    return this.#link.redis.spop(keys.wanted(this.#sweep));
  }

  /** Sends the launcher's part of a run to a worker that has none. */
  async #hand(index: number): Promise<void> {
    const [path, trial] = [this.#folder.path, this.#folder.trials[index]];
    if (!trial) return;
    const { step } = await stateOf(this.#folder, trial);
    const file = divergedPath(path, index);
    const diverged = existsSync(file) ? await readFile(file, "utf8") : undefined;
    await sendFiles(this.#link.redis, keys.files(this.#sweep, index), runPath(path, trial), { step, diverged });
  }

  async #look(id: string): Promise<void> {
    const state = await this.#queue.getJobState(id);
    if (state === "waiting" || !this.#open.has(id)) return;
    await this.#settle(id, null);
    const open = this.#open.get(id);
    if (state === "unknown" && open && !this.#heard.has(id)) await this.#enqueue();
  }

  async #seeWorkers(): Promise<void> {
    const workers = await present(this.#link.redis, keys.workers);
    const own = packageVersion();
    const note = (key: string, text: string) => {
      if (!this.#warned.has(key)) this.#tell({ type: "note", text });
      this.#warned.add(key);
    };
    for (const { name, version } of workers.filter((each) => each.version !== own))
      note(name, `worker ${name} is of version ${version} and takes no trials of this sweep, which is of ${own}`);
    if (!workers.some(({ version }) => version === own))
      note("", `no worker is there; start some with: layerwise worker --connect ${this.#link.shown}`);
  }

  /** Takes waiting trials back, has the others stopped, and fetches what they came to. */
  async #recall(): Promise<void> {
    const { redis } = this.#link;
    await redis.set(keys.stop(this.#sweep), "1", "PX", RECALL_MS);
    for (;;) {
      const active: string[] = [];
      for (const id of this.#open.keys()) {
        await this.#queue.remove(id).catch(() => 0); // an active one cannot be
        if ((await this.#queue.getJobState(id)) !== "unknown") active.push(id);
      }
      if (active.length === 0) break;
      await setTimeout(200);
    }
    for (const { trial } of this.#open.values()) {
      await this.#receive(trial.index);
      const state = await stateOf(this.#folder, this.#folder.trials[trial.index]!);
      if (state.status !== "waiting") this.#tell({ type: "ended", trial: state });
    }
  }
}
