/** Numbers, times and curves as words: one way of writing each, for people and for screen readers. */

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** 12,345 */
export const whole = (value: number): string => grouped.format(value);

/** Four significant digits or so, without noise: 5.102, 0.0031, 12,345. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "not a number" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1000) return whole(value);
  if (size < 0.001) return value.toExponential(1).replace("e-", "e−");
  return value.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4);
}

/** 61.24 ± 0.40: the deviation has as many digits after the point as the mean. */
export function spreadText(mean: number, deviation: number | null): string {
  const text = figure(mean);
  if (deviation === null) return text;
  const digits = text.includes("e") ? undefined : (text.split(".")[1]?.length ?? 0);
  return `${text} ± ${digits === undefined ? figure(deviation) : deviation.toFixed(digits)}`;
}

/** 1.08 M, 393 k: for counts of parameters and FLOPs. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  for (const [unit, size] of [
    ["G", 1e9],
    ["M", 1e6],
    ["k", 1e3],
  ] as const) {
    if (value >= size) return `${(value / size).toFixed(value >= 100 * size ? 0 : value >= 10 * size ? 1 : 2)} ${unit}`;
  }
  return whole(value);
}

/** 1 h 03 min, 4 min 12 s, 8.1 s */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${pad(Math.floor(seconds % 60))} s`;
  return `${whole(Math.floor(minutes / 60))} h ${pad(minutes % 60)} min`;
}

const pad = (value: number) => String(value).padStart(2, "0");

/** now, 4 min ago, 3 h ago, 5 days ago */
export function age(ms: number): string {
  const minutes = ms / 60_000;
  if (minutes < 1) return "now";
  if (minutes < 60) return `${Math.floor(minutes)} min ago`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h ago` : `${Math.floor(minutes / 1440)} days ago`;
}

/** 2 → 6: blocks that own weights, and how many run; one number where they are the same. */
export function depthText(row: {
  readonly uniqueBlocks: number | null;
  readonly executedDepth: number | null;
}): string {
  const { uniqueBlocks: own, executedDepth: run } = row;
  if (run === null) return "–";
  return own === null || own === run ? String(run) : `${own} → ${run}`;
}

/** 9.4 MB */
export function bytes(value: number): string {
  return value < 1e6 ? `${whole(value / 1e3)} kB` : `${(value / 1e6).toFixed(1)} MB`;
}

export const percent = (value: number, digits = 0): string => `${(100 * value).toFixed(digits)} %`;

/** The figure of a run: scores in percent, as on the terminal. */
export const bestText = ({ value, better }: { readonly value: number | null; readonly better: string }): string =>
  value !== null && better === "higher" ? percent(value, 2) : figure(value);

/** A setting's value in a table. */
export function plain(value: unknown): string {
  if (value === undefined || value === null) return "–";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** `gradientNorm`, `gradient_norm` → gradient norm. */
export const words = (name: string): string =>
  name.replaceAll("_", " ").replace(/([a-z])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`);

/** What a curve says, in a sentence: "loss 5.100 → 2.300 over 1,200 steps, lowest at 1,180". */
export function curveSentence(name: string, xs: readonly number[], ys: readonly number[], unit: string): string {
  const known = ys.map((y, i) => ({ x: xs[i]!, y })).filter(({ y }) => Number.isFinite(y));
  const [first, last] = [known[0], known.at(-1)];
  if (!first || !last) return `${name}: no points yet`;
  if (known.length === 1) return `${name} ${figure(first.y)} at ${figure(first.x)} ${unit}`;
  const low = known.reduce((best, each) => (each.y < best.y ? each : best));
  return `${name} ${figure(first.y)} → ${figure(last.y)} over ${figure(last.x - first.x)} ${unit}, lowest at ${figure(low.x)}`;
}
