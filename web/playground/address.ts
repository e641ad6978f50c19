/** Everything that an exhibit is told, in the address: `#/share?plan=0,1,0,1&steps=150`. */
import { computed, signal } from "@preact/signals";
import { deflateSync, inflateSync, strFromU8, strToU8 } from "fflate";
import type { Exhibit } from "./protocol.ts";

interface NumberRule {
  readonly from: number;
  readonly to: number;
  readonly usual: number;
  /** The usual value of the search, where it is another. */
  readonly search?: number;
}

/** Numbers by name: what is not in the address, or not within its bounds, has its usual value. */
export const rules = {
  width: { from: 16, to: 256, usual: 64 },
  steps: { from: 5, to: 5000, usual: 150, search: 300 },
  blocks: { from: 2, to: 12, usual: 6 },
  budget: { from: 0, to: 1, usual: 0.7 },
  depth: { from: 2, to: 12, usual: 6 },
  ponder: { from: 0, to: 0.2, usual: 0.01 },
  pieces: { from: 60, to: 2000, usual: 400, search: 100 },
  seed: { from: 0, to: 1e6, usual: 1 },
} as const satisfies Readonly<Record<string, NumberRule>>;

type NumberName = keyof typeof rules;
export type TextChoice = "alice" | "holmes" | "own";

export const EXHIBITS: readonly Exhibit[] = ["share", "search", "adapt"];
export const SAMPLE = "Alice was beginning to get very tired of sitting by her sister on the bank.";
export const PLAN = [0, 1, 0, 1];
const LONGEST_PLAN = 12;
/** Servers never see what follows #, and browsers take some 64,000 characters. */
const LONGEST_TEXT = 30_000;

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
});

const query = computed(() => new URLSearchParams(/\?(.*)$/.exec(hash.value)?.[1] ?? ""));

export const exhibit = computed<Exhibit>(() => {
  const named = /^#\/(\w+)/.exec(hash.value)?.[1];
  return EXHIBITS.find((each) => each === named) ?? "share";
});

/** A number of the address. */
export function numberOf(name: NumberName): number {
  const { from, to, usual, search = usual }: NumberRule = rules[name];
  const given = query.value.get(name);
  const value = Number(given);
  if (given !== null && given !== "" && value >= from && value <= to) return value;
  return exhibit.value === "search" ? search : usual;
}

/** Which block runs at each depth. */
export const plan = computed<readonly number[]>(() => {
  const given = (query.value.get("plan") ?? "").split(",").map(Number);
  const isPlan = given.length > 1 && given.length <= LONGEST_PLAN && given.every((n) => Number.isInteger(n) && n >= 0);
  return isPlan ? inOrder(given) : PLAN;
});

/** The same plan with blocks numbered as they first run. */
export function inOrder(blocks: readonly number[]): number[] {
  const seen = [...new Set(blocks)];
  return blocks.map((block) => seen.indexOf(block));
}

export const sample = computed(() => query.value.get("sample") ?? SAMPLE);
export const textChoice = computed<TextChoice>(() => {
  const given = query.value.get("text");
  return given === "holmes" || given === "own" ? given : "alice";
});

/** A text of the reader's own, where the address holds it. */
export const ownText = computed(() => unpacked(query.value.get("t") ?? ""));

/** Puts values into the address; null takes one out. */
export function change(values: Readonly<Record<string, string | number | null>>, to: Exhibit = exhibit.value): void {
  const next = new URLSearchParams(query.value);
  for (const [name, value] of Object.entries(values)) {
    if (value === null) next.delete(name);
    else next.set(name, String(value));
  }
  const words = next.toString();
  history.replaceState(null, "", `#/${to}${words ? `?${words}` : ""}`);
  hash.value = location.hash;
}

/** The address of another exhibit, on the same text. */
export function hrefOf(to: Exhibit): string {
  const kept = new URLSearchParams([...query.value].filter(([name]) => ["text", "t", "pieces", "seed"].includes(name)));
  return `#/${to}${kept.size > 0 ? `?${kept}` : ""}`;
}

/** A text as characters of an address; undefined where it is too long for one. */
export function packed(text: string): string | undefined {
  const bytes = deflateSync(strToU8(text), { level: 9 });
  const words = btoa(strFromU8(bytes, true)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return words.length <= LONGEST_TEXT ? words : undefined;
}

function unpacked(words: string): string | undefined {
  try {
    if (words === "") return undefined;
    return strFromU8(inflateSync(strToU8(atob(words.replaceAll("-", "+").replaceAll("_", "/")), true)));
  } catch {
    return undefined; // an address that was cut short
  }
}
