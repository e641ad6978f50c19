/** Trials in processes of their own: what they report on the way, and what a person sees of them. */
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
