/** Axes over settings of any kind: numbers evenly or by their logarithm, everything else by name. */
import { logTicks, ticks } from "./curves.ts";
import { figure, plain } from "./format.ts";

/** Where values stand on an axis, from 0 to 1. */
export interface ValueAxis {
  readonly name: string;
  readonly ticks: readonly { readonly at: number; readonly text: string }[];
  at(value: unknown): number;
}

/** Few enough to write each of them. */
const FEW = 6;
/** Numbers that are this many times apart are drawn by their logarithm. */
const FAR = 8;
const MARGIN = 0.06;

const inside = (fraction: number) => MARGIN + (1 - 2 * MARGIN) * fraction;

/** An axis that has room for all values. Of settings each value is written, of measured figures round numbers. */
export function axisOf(name: string, values: readonly unknown[], kind: "setting" | "log" | "figure"): ValueAxis {
  const numbers = values.filter((value): value is number => typeof value === "number" && Number.isFinite(value));
  return numbers.length === values.length && new Set(numbers).size > 1
    ? numberAxis(name, numbers, kind)
    : nameAxis(name, values);
}

function numberAxis(name: string, numbers: readonly number[], kind: "setting" | "log" | "figure"): ValueAxis {
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const log = low > 0 && (kind === "log" || high / low >= FAR);
  const place = (value: number) => (log ? Math.log(value) : value);
  const at = (value: unknown) => inside((place(Number(value)) - place(low)) / (place(high) - place(low)));
  const distinct = [...new Set(numbers)].sort((a, b) => a - b);
  const shown = kind !== "figure" && distinct.length <= FEW ? distinct : log ? logTicks(low, high) : ticks(low, high);
  return { name, at, ticks: shown.map((value) => ({ at: at(value), text: shortest(value) })) };
}

/** 0.001 stays as it is: settings are read as they were written. */
const shortest = (value: number) => (String(value).length <= 7 ? String(value) : figure(value));

/** In the order in which they came. */
function nameAxis(name: string, values: readonly unknown[]): ValueAxis {
  const names = [...new Set(values.map(plain))];
  const place = (i: number) => inside(names.length === 1 ? 0.5 : i / (names.length - 1));
  return {
    name,
    at: (value) => place(Math.max(0, names.indexOf(plain(value)))),
    ticks: names.map((text, i) => ({ at: place(i), text })),
  };
}
