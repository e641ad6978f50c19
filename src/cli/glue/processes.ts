/** Trials of a search as processes of their own: what they report on the way, and what a person sees of them. */
import { type ChildProcess, fork } from "node:child_process";
import { UserError } from "../../base/errors.ts";
import { clock, type ProgressOutput, startProgress } from "../../base/progress.ts";
import { formatNumber, table } from "../../base/table.ts";
import type { GlueWatcher } from "./finetune.ts";

/** How far a trial is. */
export interface TrialReport {
  readonly step: number;
  readonly total: number;
  readonly loss: number;
  /** The last figure of the dev set, in percent. */
  readonly figure?: number | undefined;
}

const REPORT_MS = 250;

/** Sends reports to the search that started this process, and ends with it: a killed search leaves no orphans. */
export function reportTo(self: NodeJS.Process): GlueWatcher {
  let [due, figure]: [number, number | undefined] = [0, undefined];
  self.on("disconnect", () => self.exit(1));
  self.channel?.unref(); // listening must not keep a finished trial alive
  return {
    step: (step, total, loss) => {
      if (performance.now() < due && step < total) return;
      due = performance.now() + REPORT_MS;
      self.send?.({ step, total, loss, figure } satisfies TrialReport);
    },
    epoch: ({ figures }) => {
      figure = 100 * Object.values(figures)[0]!;
    },
  };
}

/** A line of progress on a terminal, and a line an epoch everywhere. */
export function watchTuning(output: ProgressOutput, metric: string): GlueWatcher {
  let progress: ReturnType<typeof startProgress> | undefined;
  return {
    step: (step, total) => {
      progress ??= startProgress("fine-tuning", { output, total, unit: "updates" });
      progress.at(step);
    },
    epoch: ({ epoch, loss, figures }, best) => {
      progress?.end();
      const depth = figures.depth === undefined ? "" : `  depth ${figures.depth.toFixed(2)}`;
      const figure = `${metric} ${(100 * figures[metric]!).toFixed(2)}`;
      output.write(`epoch ${epoch}  dev loss ${loss.toFixed(4)}  ${figure}${depth}${best ? "  best so far" : ""}\n`);
    },
  };
}

/** Runs this program once more with other arguments; rejects with what it wrote where it fails. */
export function runTrial(
  args: readonly string[],
  onReport: (report: TrialReport) => void,
  onStart: (child: ChildProcess) => void,
): Promise<void> {
  const child = fork(process.argv[1]!, args, {
    execArgv: process.execArgv,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  onStart(child);
  let said = "";
  child.stderr?.on("data", (text: Buffer) => {
    said = `${said}${text}`.slice(-2000);
  });
  child.on("message", (message) => onReport(message as TrialReport));
  return new Promise((resolve, rejectWith) => {
    child.on("error", rejectWith);
    child.on("close", (code, signal) => {
      if (code === 0) resolve();
      else rejectWith(new UserError(`trial ${args.join(" ")} ended with ${signal ?? `code ${code}`}: ${said.trim()}`));
    });
  });
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
      dev: report?.figure?.toFixed(2),
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
