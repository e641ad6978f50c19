/** Jobs that the studio started: each a process of its own, whose output lies below the studio's folder. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type RunOrder, startOrder } from "../sweep/index.ts";
import type { JobState } from "./api.ts";
import { textFrom } from "./file-text.ts";
import { idOf, type RunIndex } from "./run-index.ts";

/** Hidden, so that it counts as no run. */
const FOLDER = ".studio";
const SAID = 2000;
/** Jobs that are remembered after they ended. */
const REMEMBERED = 20;

interface Kept extends Pick<JobState, "id" | "what" | "pid" | "path" | "command" | "startedMs"> {
  readonly log: string;
  code: number | null | undefined;
}

/** The jobs of this server. They go on when it ends. */
export class Jobs {
  readonly #index: RunIndex;
  #jobs: Kept[] = [];

  constructor(index: RunIndex) {
    this.#index = index;
  }

  /** Starts an order that goes to `path`. */
  start(order: RunOrder, about: Pick<JobState, "what" | "command"> & { path: string }): JobState {
    const id = randomBytes(6).toString("hex");
    const folder = join(this.#index.folder, FOLDER);
    mkdirSync(folder, { recursive: true });
    const log = join(folder, `${id}.log`);
    const child = startOrder(order, log);
    const job: Kept = { id, log, pid: child.pid ?? 0, startedMs: Date.now(), code: undefined, ...about };
    child.once("exit", (code) => {
      job.code = code;
    });
    child.once("error", () => {
      job.code = 1;
    });
    this.#jobs = [
      ...this.#jobs.filter(({ code }, i) => code === undefined || i >= this.#jobs.length - REMEMBERED),
      job,
    ];
    return this.#stateOf(job);
  }

  states(): JobState[] {
    return this.#jobs.map((job) => this.#stateOf(job));
  }

  /** Whether a job that still runs goes to this folder. */
  isTaken(path: string): boolean {
    return this.#jobs.some((job) => job.path === path && job.code === undefined);
  }

  /** Waits for jobs of this folder that are about to end: a run is given back a moment before its process is gone. */
  async settled(path: string): Promise<void> {
    for (let i = 0; i < 50 && this.isTaken(path); i++) await new Promise((resolve) => setTimeout(resolve, 100));
  }

  #stateOf({ log, code, ...job }: Kept): JobState {
    const known = existsSync(join(this.#index.folder, job.path));
    const running = known ? ("running" as const) : ("opening" as const);
    const state = code === undefined ? running : code === 0 ? "ended" : "failed";
    return { ...job, state, run: known ? idOf(job.path) : null, said: textFrom(log, undefined, SAID).text };
  }
}
