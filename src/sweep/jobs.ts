/** Starts orders in processes of their own: those that are begun outlive who began them. */
import { type ChildProcess, fork } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { LayerwiseError } from "../base/errors.ts";
import type { Fact } from "../tasks/job.ts";
import type { Order, RunOrder, TaskOrder, TrialMessage, TrialOrder } from "./orders.ts";
import type { TrialReport } from "./processes.ts";

const script = () => fileURLToPath(new URL(`./job-process${extname(import.meta.url)}`, import.meta.url));

/** The process of an order. */
export interface StartedOrder {
  readonly pid?: number | undefined;
  once(event: "exit", heard: (code: number | null) => void): unknown;
  once(event: "error", heard: (error: Error) => void): unknown;
}

/** Begins an order, or goes on with a run, in a process of its own whose output goes to a file. It is not waited for. */
export function startOrder(order: RunOrder, log: string): StartedOrder {
  const output = openSync(log, "a");
  try {
    const child = fork(script(), [], { detached: true, stdio: ["ignore", output, output, "ipc"] });
    child.send(order);
    child.unref();
    return child;
  } finally {
    closeSync(output);
  }
}

/** What is heard of a trial's process, and what it is told. */
export interface TrialHandlers {
  readonly signal: AbortSignal;
  readonly onReport?: ((report: TrialReport) => void) | undefined;
  /** A checkpoint is there. */
  readonly onSaved?: (() => void) | undefined;
  /** Where the process runs; default: here. */
  readonly cwd?: string | undefined;
}

/** Runs a trial of a sweep in a process of its own, to its end; aborting stops it with a checkpoint, as does the end of this process. */
export function startTrial(order: TrialOrder, { signal, onReport, onSaved, cwd }: TrialHandlers): Promise<void> {
  return new Promise((resolve, rejectWith) => {
    // Detached: Ctrl-C in the terminal reaches the launcher alone, which then stops its trials.
    const child = fork(script(), [], { detached: true, cwd, stdio: ["ignore", "ignore", "pipe", "ipc"] });
    const said = wordsOf(child);
    const stop = () => child.connected && child.send("stop");
    signal.addEventListener("abort", stop, { once: true });
    child.on("message", (message: TrialMessage) => ("report" in message ? onReport?.(message.report) : onSaved?.()));
    child.on("error", rejectWith);
    child.on("close", (code, ended) => {
      signal.removeEventListener("abort", stop);
      if (code === 0) return resolve();
      const why = said().trim().split("\n").at(-1) || `its process ended with ${ended ?? `code ${code}`}`;
      rejectWith(new LayerwiseError(`trial ${order.index}: ${why}`));
    });
    child.send(order, (error) => error && rejectWith(error));
  });
}

/** The last words of a process on its standard error. */
function wordsOf(child: ChildProcess): () => string {
  let said = "";
  child.stderr?.on("data", (text: Buffer) => {
    said = `${said}${text}`.slice(-4000);
  });
  return () => said;
}

/** What an order would be, and how long it would take, from a few steps in a process of their own; nothing is kept. */
export function tryOrder(order: TaskOrder, signal?: AbortSignal): Promise<Fact[]> {
  return new Promise((resolve, rejectWith) => {
    const child = fork(script(), [], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
    const end = () => child.kill("SIGKILL");
    signal?.addEventListener("abort", end, { once: true });
    const said = wordsOf(child);
    child.on("message", (message: { facts: Fact[] }) => resolve(message.facts));
    child.on("error", rejectWith);
    child.on("close", () => {
      signal?.removeEventListener("abort", end);
      rejectWith(new LayerwiseError(said().trim().split("\n").at(-1) || "the trial ended without a word", 2));
    });
    child.send({ do: "try", order } satisfies Order);
  });
}
