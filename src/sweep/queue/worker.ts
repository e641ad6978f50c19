/** A worker on a queue: takes trials, runs each in a process of its own, and never trains itself, so that its locks never lapse. */
import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import type { Job, Worker } from "bullmq";
import { LayerwiseError, messageOf, reject } from "../../base/errors.ts";
import { packageVersion } from "../../tasks/environment.ts";
import type { Handed } from "../../tasks/job.ts";
import { sharedThreads } from "../local.ts";
import { addressFrom, type Link, openLink, queueName } from "./connection.ts";
import {
  announce,
  keys,
  ownName,
  type Presence,
  present,
  type TrialJob,
  type TrialOutcome,
  timing,
} from "./protocol.ts";
import { TrialAtWork } from "./trial-at-work.ts";

/** Where a worker takes trials from, and how many at a time. */
export interface WorkerOptions extends Pick<Handed, "say"> {
  /** Such as `redis://host:6379`. Default: the environment's LAYERWISE_QUEUE. */
  readonly connect?: string | undefined;
  /** Trials at a time; they share the machine's threads. Default: 1. */
  readonly slots?: number | undefined;
  /** For the runs of sweeps in folders that this machine does not see. Default: runs/worker. */
  readonly folder?: string | undefined;
  /** False: never work in the sweep's own folder, but send files through the queue. Default: true. */
  readonly shared?: boolean | undefined;
  /** Ends the worker; its trials stop with checkpoints, and go back to the queue. */
  readonly signal?: AbortSignal | undefined;
}

/** Serves a queue until it is told to stop. */
export async function serveQueue(options: WorkerOptions): Promise<void> {
  const { connect, slots = 1, folder = "runs/worker", shared = true, say = () => {} } = options;
  if (!Number.isInteger(slots) || slots < 1)
    reject({ who: "worker / slots", needed: "a whole number from 1", got: `${slots}` }, 2);
  const link = await openLink(addressFrom(connect, "worker / connect"), "worker", say);
  try {
    await refuseOthers(link);
    const server = new QueueServer(link, {
      slots,
      shared,
      folder: resolve(folder),
      say,
      threads: await sharedThreads(slots),
    });
    await server.serve(options.signal ?? new AbortController().signal);
  } finally {
    await link.close();
  }
}

/** A worker of another version than the sweeps that wait would train other numbers, or not understand them. */
async function refuseOthers({ redis, shown }: Link): Promise<void> {
  const [own, launchers] = [packageVersion(), await present(redis, keys.launchers)];
  const other = launchers.find(({ version }) => version !== own);
  if (!other || launchers.some(({ version }) => version === own)) return;
  const remedy = `install layerwise@${other.version} here`;
  reject(
    {
      who: `worker for ${shown}`,
      needed: `version ${other.version}, as the sweep of ${other.name} has`,
      got: own,
      remedy,
    },
    2,
  );
}

interface Serving {
  readonly slots: number;
  readonly folder: string;
  readonly shared: boolean;
  readonly threads: number;
  readonly say: (text: string) => void;
}

class QueueServer {
  readonly #link: Link;
  readonly #serving: Serving;
  readonly #worker: Worker<TrialJob, TrialOutcome>;
  readonly #stop = new AbortController();
  /** By the ids of their jobs: a job that was queued again finds its trial here. */
  readonly #atWork = new Map<string, Promise<TrialOutcome>>();
  /** Runs that were sent, until the launcher has them. */
  readonly #sent = new Map<string, { sweep: string; index: number; run: string }>();

  constructor(link: Link, serving: Serving) {
    [this.#link, this.#serving] = [link, serving];
    const process = (job: Job<TrialJob, TrialOutcome>, token?: string) => this.#process(job, token);
    this.#worker = new link.bull.Worker<TrialJob, TrialOutcome>(queueName(), process, {
      connection: link.connection(),
      concurrency: serving.slots,
      lockDuration: timing.lockMs,
      stalledInterval: timing.stalledMs,
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      drainDelay: 1,
      name: ownName(),
    });
    this.#worker.on("error", () => {}); // the link says it; what a lost lock means is told by the lease
  }

  async serve(signal: AbortSignal): Promise<void> {
    const { slots, threads, say } = this.#serving;
    await this.#announce();
    const beat = setInterval(() => this.#beat().catch(() => {}), timing.presenceMs / 3);
    const words = `${slots} at a time, ${threads} thread${threads === 1 ? "" : "s"} each`;
    say(`worker ${ownName()}, version ${packageVersion()}, at ${this.#link.shown}: ${words}; Ctrl-C ends it`);
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    clearInterval(beat);
    this.#stop.abort();
    await this.#worker.close();
    await this.#link.redis.del(keys.workers + ownName()).catch(() => {});
  }

  #announce(): Promise<void> {
    const presence: Presence = { version: packageVersion(), name: ownName() };
    return announce(this.#link.redis, keys.workers, ownName(), presence);
  }

  async #beat(): Promise<void> {
    await this.#announce();
    for (const [id, { sweep, index, run }] of this.#sent) {
      if (!(await this.#link.redis.hexists(keys.taken(sweep), `${index}`))) continue;
      this.#sent.delete(id);
      await rm(run, { recursive: true, force: true });
    }
  }

  async #process(job: Job<TrialJob, TrialOutcome>, token: string | undefined): Promise<TrialOutcome> {
    const outcome = await this.#once(job);
    if (outcome === "ended" || !this.#stop.signal.aborted) return outcome;
    await job.moveToWait(token); // for another worker
    throw new this.#link.bull.WaitingError();
  }

  #once(job: Job<TrialJob, TrialOutcome>): Promise<TrialOutcome> {
    const id = job.id!;
    const running = this.#atWork.get(id) ?? this.#run(job).finally(() => this.#atWork.delete(id));
    this.#atWork.set(id, running);
    return running;
  }

  async #run(job: Job<TrialJob, TrialOutcome>): Promise<TrialOutcome> {
    const { say, slots: _, ...own } = this.#serving;
    const name = `trial ${job.data.index} of ${job.data.path}`;
    const tell = (report?: object) => void job.updateProgress({ worker: ownName(), report }).catch(() => {});
    const trial = new TrialAtWork(this.#link, job.data, { ...own, tell, say, signal: this.#stop.signal });
    try {
      const outcome = await trial.run();
      if (trial.sentRun) this.#sent.set(job.id!, { ...job.data, run: trial.sentRun });
      say(`${name}: ${outcome}, ${(trial.processMs / 1000).toFixed(2)} s`);
      return outcome;
    } catch (error) {
      say(`${name}: failed: ${messageOf(error)}`);
      throw error instanceof LayerwiseError ? error : new LayerwiseError(messageOf(error));
    }
  }
}
