/** Trials of a search as processes of their own: what they report on the way, and what a person sees of them. */
import { type ChildProcess, fork } from "node:child_process";
import { LayerwiseError, messageOf } from "../base/errors.ts";
import { clock, type ProgressOutput } from "../base/progress.ts";
import { formatNumber, table } from "../base/table.ts";
import type { TaskEvent } from "../tasks/job.ts";

/** How far a trial is. */
export interface TrialReport {
  readonly step: number;
  readonly total: number;
  readonly loss: number;
  /** The last figure of the dev set, in percent. */
  readonly figure?: number | undefined;
}

/** What a search asks of a worker: settings that differ from trial to trial, and where the run goes. */
export interface TrialOrder {
  readonly rate: number;
  readonly batch: number;
  readonly epochs: number;
  readonly seed: number;
  readonly out: string;
}

/** What a worker says: how far it is, or that the trial is over, with what went wrong. */
type Message = { readonly report: TrialReport } | { readonly over: string | null };

const REPORT_MS = 250;

/** Turns events into reports, a few per second. */
export function reporting(send: (report: TrialReport) => unknown): (event: TaskEvent) => void {
  let [due, total, figure]: [number, number, number | undefined] = [0, 0, undefined];
  return (event) => {
    if (event.type === "begin") total = event.totalSteps ?? 0;
    if (event.type === "evaluation") figure = Object.values(event.scalars ?? {}).map((value) => 100 * value)[0];
    if (event.type !== "step" || (performance.now() < due && event.step < total)) return;
    due = performance.now() + REPORT_MS;
    send({ step: event.step, total, loss: event.loss, figure });
  };
}

/** Makes this process a worker: it carries out orders one after another, and ends with the search that started it, however that ends. */
export function serveOrders(carryOut: (order: TrialOrder, see: (event: TaskEvent) => void) => Promise<void>): void {
  const send = (message: Message) => void process.send?.(message);
  process.on("disconnect", () => process.exit(0));
  process.on("message", (order: TrialOrder) => {
    carryOut(
      order,
      reporting((report) => send({ report })),
    ).then(
      () => send({ over: null }),
      (error: unknown) => send({ over: messageOf(error) }),
    );
  });
}

/** This program once more, as a worker for trials. */
export class TrialWorker {
  readonly #child: ChildProcess;
  #said = "";

  constructor(args: readonly string[]) {
    const stdio = ["ignore", "ignore", "pipe", "ipc"] as const;
    this.#child = fork(process.argv[1]!, args, { execArgv: process.execArgv, stdio: [...stdio] });
    this.#child.stderr?.on("data", (text: Buffer) => {
      this.#said = `${this.#said}${text}`.slice(-2000);
    });
  }

  /** Carries out one order; rejects where the trial fails or the process ends. */
  run(order: TrialOrder, onReport: (report: TrialReport) => void): Promise<void> {
    const child = this.#child;
    return new Promise((resolve, rejectWith) => {
      const fail = (why: string) => rejectWith(new LayerwiseError(`trial ${order.out}: ${why}`));
      const onClose = (code: number | null, signal: string | null) =>
        fail(`its process ended with ${signal ?? `code ${code}`}: ${this.#said.trim()}`);
      const onMessage = (message: unknown) => {
        const told = message as Message;
        if ("report" in told) return onReport(told.report);
        child.off("message", onMessage).off("close", onClose);
        if (told.over === null) resolve();
        else fail(told.over);
      };
      child.on("message", onMessage).on("close", onClose);
      child.send(order, (error) => error && fail(messageOf(error)));
    });
  }

  end(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}

/** The trials that run now, redrawn in place on a terminal; elsewhere a line for each that ends. */
export class TrialTable {
  readonly #output: ProgressOutput;
  readonly #start = performance.now();
  readonly #running = new Map<string, TrialReport | undefined>();
  /** Trials in all, as far as it is known; finished ones, before and in this session. */
  #total = 0;
  #before = 0;
  #done = 0;
  #lines = 0;
  #due = 0;

  constructor(output: ProgressOutput) {
    this.#output = output;
  }

  /** More trials are to come, some of them finished already. */
  expect(total: number, finished: number): void {
    this.#total += total;
    this.#before += finished;
  }

  see(name: string, report?: TrialReport): void {
    this.#running.set(name, report);
    if (!this.#output.isTTY || performance.now() < this.#due) return;
    this.#due = performance.now() + REPORT_MS;
    this.#draw();
  }

  finished(name: string, figure: string): void {
    this.#running.delete(name);
    this.#done++;
    this.wipe();
    this.#output.write(`${this.#before + this.#done} of ${this.#total}  ${name}  ${figure}\n`);
  }

  /** A trial that was stopped or failed. */
  dropped(name: string, why: string): void {
    this.#running.delete(name);
    this.wipe();
    this.#output.write(`${name}  ${why}\n`);
  }

  /** Something that is of no trial. */
  say(text: string): void {
    this.wipe();
    this.#output.write(`${text}\n`);
  }

  wipe(): void {
    if (this.#lines > 0) this.#output.write(`\x1b[${this.#lines}A\x1b[0J`);
    this.#lines = 0;
  }

  #draw(): void {
    this.wipe();
    const rows = [...this.#running].map(([trial, report]) => ({
      trial,
      update: report ? `${report.step}/${report.total}` : "starting",
      loss: report?.loss.toFixed(3),
      ...(report?.figure === undefined ? {} : { dev: report.figure.toFixed(2) }),
    }));
    const text = `${table(rows)}\n${this.#before + this.#done} of ${formatNumber(this.#total)} done${this.#left()}\n`;
    this.#lines = text.split("\n").length - 1;
    this.#output.write(text);
  }

  #left(): string {
    const partly = [...this.#running.values()].reduce((sum, each) => sum + (each ? each.step / each.total : 0), 0);
    const made = this.#done + partly;
    const seconds = (performance.now() - this.#start) / 1000;
    return made > 0 ? `  ${clock(((this.#total - this.#before - made) * seconds) / made)} left` : "";
  }
}
