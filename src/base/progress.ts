/** One line of progress with rate and time left, rewritten in place; silent where nobody watches or the work is short. */
import { formatNumber } from "./table.ts";

/** What progress needs of an output: `process.stderr` fits. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** What a line of progress counts, and where it is shown. */
export interface ProgressOptions {
  output: ProgressOutput;
  /** How much there is to do, if known. */
  total?: number;
  /** What is counted: `tokens`, `bytes`. */
  unit?: string;
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
}

/** A line that shows how much is done. */
export interface Progress {
  /** Sets how much is done so far, and of how much where that shows on the way. */
  at(done: number, total?: number): void;
  /** Wipes the line. */
  end(): void;
}

const SHOW_AFTER_MS = 2000;
const REDRAW_MS = 200;

/** Starts a progress line; the first drawing comes after two seconds, and only on a terminal. */
export function startProgress(label: string, options: ProgressOptions): Progress {
  const { output, now = () => performance.now() } = options;
  if (!output.isTTY) return { at: () => {}, end: () => {} };
  const startMs = now();
  let dueMs = startMs + SHOW_AFTER_MS;
  let shown = false;
  return {
    at(done, total = options.total) {
      const nowMs = now();
      if (nowMs < dueMs) return;
      dueMs = nowMs + REDRAW_MS;
      shown = true;
      const line = progressLine(label, done, nowMs - startMs, { ...options, total });
      output.write(`\r\x1b[2K${line}`);
    },
    end() {
      if (shown) output.write("\r\x1b[2K");
      shown = false;
    },
  };
}

/** Does work under a progress line that counts what the work reports; the line is wiped when it ends, also where it fails. */
export async function withProgress<T>(
  label: string,
  options: ProgressOptions,
  work: (at: Progress["at"]) => Promise<T>,
): Promise<T> {
  const progress = startProgress(label, options);
  try {
    return await work(progress.at);
  } finally {
    progress.end();
  }
}

/** What a line of progress is fitted to. */
interface LineOptions {
  readonly total?: number | undefined;
  readonly unit?: string | undefined;
  readonly output?: Pick<ProgressOutput, "columns"> | undefined;
}

/** `label  ━━━━━━━━············  42 %  1,234 tokens/s  0:12 left`. */
export function progressLine(
  label: string,
  done: number,
  elapsedMs: number,
  { total, unit = "steps", output }: LineOptions,
): string {
  const perSecond = elapsedMs > 0 ? (done / elapsedMs) * 1000 : 0;
  const rate = `${formatNumber(perSecond, perSecond < 10 ? 1 : 0)} ${unit}/s`;
  if (!total)
    return lineWithin(output?.columns, [label, `${formatNumber(done, 0)} ${unit}`, rate, clock(elapsedMs / 1000)], [2]);
  const left = perSecond > 0 ? `${clock(Math.max(0, total - done) / perSecond)} left` : clock(elapsedMs / 1000);
  return lineWithin(output?.columns, [label, bar(done / total), percentOf(done / total), rate, left], [3, 1]);
}

const BAR = 20;
const [FULL, EMPTY] = ["━", "·"];

/** A share from 0 to 1 as a bar of twenty cells. */
export function bar(share: number): string {
  const full = Math.floor(BAR * Math.min(1, Math.max(0, share)));
  return FULL.repeat(full) + EMPTY.repeat(BAR - full);
}

/** A share as `42 %`, rounded down. */
export const percentOf = (share: number): string => `${Math.min(100, Math.max(0, Math.floor(100 * share)))} %`;

/** Parts in one line of less than `columns`; where they do not fit, those at the places in `dispensable` go, one by one. */
export function lineWithin(
  columns: number | undefined,
  parts: readonly string[],
  dispensable: readonly number[] = [],
): string {
  const line = parts.join("  ");
  const [first, ...others] = dispensable;
  if (columns === undefined || columns === 0 || line.length < columns) return line;
  if (first === undefined) return line.slice(0, Math.max(0, columns - 1));
  const shifted = others.map((place) => (place > first ? place - 1 : place));
  return lineWithin(columns, parts.toSpliced(first, 1), shifted);
}

/** Seconds as `m:ss` or `h:mm:ss`. */
export function clock(seconds: number): string {
  const whole = Math.round(seconds);
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}:${two(whole % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}
