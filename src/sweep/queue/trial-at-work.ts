/** One trial at a worker: its lease, its folder – the launcher's where this machine sees it, else one of its own –, its process. */
import { existsSync } from "node:fs";
import { readFile, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { LayerwiseError, reject } from "../../base/errors.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { type LockHolder, lockHolder } from "../../files/lock.ts";
import { EVENTS_FILE } from "../../runs/folder.ts";
import { startTrial, type TrialHandlers } from "../jobs.ts";
import { untilFree } from "../local.ts";
import type { TrialReport } from "../processes.ts";
import {
  divergedPath,
  hasEnded,
  openSweep,
  runPath,
  type SweepFolder,
  stateOf,
  type TrialState,
  trialLocks,
} from "../sweep-folder.ts";
import type { Link } from "./connection.ts";
import {
  holdLease,
  keys,
  ownName,
  queueIdIn,
  releaseLease,
  type TrialJob,
  type TrialOutcome,
  timing,
} from "./protocol.ts";
import { fetchFiles, readList, sendFiles } from "./run-files.ts";

/** What a trial is given by its worker. */
export interface Workplace {
  /** Of the worker, for sweeps in folders that it does not see. */
  readonly folder: string;
  /** Whether trials may work in the sweep's own folder where it is in sight. */
  readonly shared: boolean;
  readonly threads: number;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  /** Tells the launcher that the trial has begun, or how far it is. */
  readonly tell: (report?: TrialReport) => void;
}

const ASK_MS = 60_000;
/** A lock of a process on another machine that writes nothing for so long is that of one that is gone. */
const SILENT_MS = 60_000;

/** A trial from the moment that its worker has the job. */
export class TrialAtWork {
  readonly #link: Link;
  readonly #job: TrialJob;
  readonly #place: Workplace;
  readonly #stop = new AbortController();
  readonly #lease: string;
  #folder: SweepFolder | undefined;
  #lost = false;
  #sending = Promise.resolve();
  #again = false;
  /** How long the trial's process ran. */
  processMs = 0;
  /** The run in the worker's own folder, once it was sent. */
  sentRun: string | undefined;

  constructor(link: Link, job: TrialJob, place: Workplace) {
    [this.#link, this.#job, this.#place] = [link, job, place];
    this.#lease = keys.lease(job.sweep, job.index);
    if (place.signal.aborted) this.#stop.abort();
    place.signal.addEventListener("abort", () => this.#stop.abort(), { once: true });
  }

  /** Runs the trial to its end, or until worker or launcher say stop. */
  async run(): Promise<TrialOutcome> {
    const { redis } = this.#link;
    while (!(await holdLease(redis, this.#lease, ownName()))) {
      if (this.#stop.signal.aborted) return "stopped";
      await setTimeout(timing.renewMs / 2);
    }
    const renewing = setInterval(() => this.#renew().catch(() => {}), timing.renewMs);
    try {
      this.#place.tell();
      const outcome = await this.#work();
      if (this.#lost) throw new LayerwiseError("another worker has taken the trial over");
      return outcome;
    } finally {
      clearInterval(renewing);
      await releaseLease(redis, this.#lease, ownName());
    }
  }

  async #renew(): Promise<void> {
    this.#lost = !(await holdLease(this.#link.redis, this.#lease, ownName()));
    if (this.#lost || (await this.#link.redis.exists(keys.stop(this.#job.sweep)))) this.#stop.abort();
  }

  async #work(): Promise<TrialOutcome> {
    const { sweep, path, cwd } = this.#job;
    const isShared = this.#place.shared && (await queueIdIn(path).catch(() => undefined)) === sweep;
    const place = isShared ? path : join(this.#place.folder, sweep);
    await this.#untilFree(place);
    if (!isShared) await this.#bring(place);
    if (this.#stop.signal.aborted) return "stopped";
    const onSaved = isShared ? undefined : () => this.#sendSoon(place);
    await this.#train(place, { onSaved, cwd: isShared && existsSync(cwd) ? cwd : undefined });
    if (!isShared) await this.#deliver(place);
    return hasEnded(await this.#state(place)) ? "ended" : "stopped";
  }

  /** In a process of its own; one that was late to notice its worker's end may have the trial for a while. */
  async #train(place: string, how: Pick<TrialHandlers, "onSaved" | "cwd">): Promise<void> {
    const { threads, tell } = this.#place;
    const handlers = { ...how, onReport: throttled(tell), signal: this.#stop.signal };
    while (!this.#stop.signal.aborted && !hasEnded(await this.#state(place))) {
      const began = performance.now();
      try {
        return await startTrial({ do: "trial", sweep: place, index: this.#job.index, threads }, handlers);
      } catch (error) {
        if (!this.#holder(place)) throw error;
        await this.#untilFree(place);
      } finally {
        this.processMs += performance.now() - began;
      }
    }
  }

  /** The process that has the trial. */
  #holder(place: string): LockHolder | undefined {
    return trialLocks(place, this.#job)
      .map((lock) => lockHolder(lock))
      .find((found) => found?.live)?.holder;
  }

  async #state(place: string): Promise<TrialState> {
    this.#folder ??= await openSweep(place);
    return stateOf(this.#folder, this.#folder.trials[this.#job.index]!);
  }

  /** Waits for a process that still has the trial: the child of a killed worker. One of another machine that is silent is gone. */
  async #untilFree(place: string): Promise<void> {
    const { index } = this.#job;
    const events = join(runPath(place, this.#job), EVENTS_FILE);
    let [seen, since] = ["", performance.now()];
    for (let holder = this.#holder(place); holder && !this.#stop.signal.aborted; holder = this.#holder(place)) {
      if (holder.host === hostname()) return untilFree(place, this.#job, this.#stop.signal);
      const now = `${holder.token} ${(await stat(events).catch(() => undefined))?.mtimeMs}`;
      if (now !== seen) [seen, since] = [now, performance.now()];
      if (performance.now() - since > SILENT_MS) {
        this.#place.say(`trial ${index}: its process on ${holder.host} is gone; going on with it here`);
        for (const lock of trialLocks(place, this.#job)) await rm(lock, { force: true });
      }
      await setTimeout(timing.renewMs);
    }
  }

  /** Makes the worker's own folder: the sweep's texts, and what of the run is elsewhere and further than what is here. */
  async #bring(place: string): Promise<void> {
    const { files, index, sweep, begun } = this.#job;
    for (const [name, text] of Object.entries(files)) await writeAtomically(join(place, name), text);
    const { redis } = this.#link;
    const key = keys.files(sweep, index);
    const here = await this.#state(place);
    if (begun && here.status === "waiting" && !(await readList(redis, key))) await this.#ask(key);
    const list = await readList(redis, key);
    if (!list || hasEnded(here) || (here.status !== "waiting" && here.step >= list.step)) return;
    const got = await fetchFiles(redis, key, runPath(place, this.#job));
    if (got?.diverged !== undefined) await writeAtomically(divergedPath(place, index), got.diverged);
  }

  /** The launcher has a part of the run: it is asked to send it. */
  async #ask(key: string): Promise<void> {
    const { redis } = this.#link;
    for (let waited = 0; !this.#stop.signal.aborted; waited += timing.renewMs) {
      await redis.sadd(keys.wanted(this.#job.sweep), `${this.#job.index}`);
      await setTimeout(timing.renewMs);
      if (await readList(redis, key)) return;
      if (waited < ASK_MS) continue;
      const remedy = "start the sweep's command again";
      reject({ who: `trial ${this.#job.index}`, needed: "its checkpoint from the launcher", got: "no answer", remedy });
    }
  }

  /** Sends the newest checkpoint; one that comes while another is being sent waits for it. */
  #sendSoon(place: string): void {
    if (this.#again) return;
    this.#again = true;
    this.#sending = this.#sending
      .then(() => {
        this.#again = false;
        return this.#send(place);
      })
      .catch(() => {}); // the next one, or the delivery, says why
  }

  async #deliver(place: string): Promise<void> {
    await this.#sending;
    if (this.#lost) return;
    await this.#send(place);
    this.sentRun = runPath(place, this.#job);
  }

  async #send(place: string): Promise<void> {
    const { index, sweep } = this.#job;
    const { step } = await this.#state(place);
    const file = divergedPath(place, index);
    const diverged = existsSync(file) ? await readFile(file, "utf8") : undefined;
    await sendFiles(this.#link.redis, keys.files(sweep, index), runPath(place, this.#job), { step, diverged });
  }
}

/** Reports go over a network: one a second. */
function throttled(tell: (report: TrialReport) => void): (report: TrialReport) => void {
  let due = 0;
  return (report) => {
    if (performance.now() < due && report.step < report.total) return;
    due = performance.now() + 1000;
    tell(report);
  };
}
