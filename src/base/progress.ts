/** One line of progress with rate and time left, rewritten in place; silent where nobody watches or the work is short. */
import { formatNumber } from "./table.ts";

/** What progress needs of an output: `process.stderr` fits. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
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
  /** Sets how much is done so far. */
  at(done: number): void;
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
    at(done) {
      const nowMs = now();
      if (nowMs < dueMs) return;
      dueMs = nowMs + REDRAW_MS;
      shown = true;
      output.write(`\r\x1b[2K${progressLine(label, done, nowMs - startMs, options)}`);
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

/** `label  42 %  1,234 tokens/s  0:12 left`. */
export function progressLine(
  label: string,
  done: number,
  elapsedMs: number,
  { total, unit = "steps" }: Pick<ProgressOptions, "total" | "unit">,
): string {
  const perSecond = elapsedMs > 0 ? (done / elapsedMs) * 1000 : 0;
  const share = total ? `${Math.min(100, Math.floor((done / total) * 100))} %` : `${formatNumber(done, 0)} ${unit}`;
  const left =
    total && perSecond > 0 ? `${clock(Math.max(0, total - done) / perSecond)} left` : `${clock(elapsedMs / 1000)}`;
  return `${label}  ${share}  ${formatNumber(perSecond, perSecond < 10 ? 1 : 0)} ${unit}/s  ${left}`;
}

/** Seconds as `m:ss` or `h:mm:ss`. */
export function clock(seconds: number): string {
  const whole = Math.round(seconds);
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}:${two(whole % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}
