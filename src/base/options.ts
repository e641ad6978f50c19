/** Options checked where they come in: an unknown name is refused with the one that was probably meant, a value by its rule. */
import { reject } from "./errors.ts";
import { nearest } from "./nearest.ts";

/** What a value must be, in words, and whether it is. */
export interface Rule {
  /** As a noun phrase: `a whole number from 1`. */
  readonly needed: string;
  readonly fits: (value: unknown) => boolean;
  /** A way out for a value that does not fit. */
  readonly remedy?: (value: unknown) => string | undefined;
}

/** A rule for an option that has no default. */
export interface RequiredRule extends Rule {
  readonly required: true;
}

type IsOptional<T, K extends keyof T> = Record<never, never> extends Pick<T, K> ? true : false;

/** A rule for every option of T: `required(…)` where T has no question mark. A missing row does not compile. */
export type Rules<T> = { readonly [K in keyof T]-?: IsOptional<T, K> extends true ? Rule : RequiredRule };

/** The option must be given. */
export const required = (rule: Rule): RequiredRule => ({ ...rule, required: true });

/** Bounds of a number; `from` and `to` belong to the range, `above` and `below` do not. */
export interface Bounds {
  readonly from?: number;
  readonly above?: number;
  readonly to?: number;
  readonly below?: number;
}

function within(value: number, { from, above, to, below }: Bounds): boolean {
  return (
    value >= (from ?? Number.NEGATIVE_INFINITY) &&
    value > (above ?? Number.NEGATIVE_INFINITY) &&
    value <= (to ?? Number.POSITIVE_INFINITY) &&
    value < (below ?? Number.POSITIVE_INFINITY)
  );
}

function wording({ from, above, to, below }: Bounds): string {
  const parts = [
    from === undefined ? "" : ` from ${from}`,
    above === undefined ? "" : ` above ${above}`,
    to === undefined ? "" : ` to ${to}`,
    below === undefined ? "" : `${from === undefined ? "" : " to"} below ${below}`,
  ];
  return parts.join("");
}

/** A finite number within bounds. */
export function number(bounds: Bounds = {}): Rule {
  return {
    needed: `a number${wording(bounds)}`,
    fits: (value) => Number.isFinite(value) && within(Number(value), bounds),
  };
}

/** A whole number from `from` to `to`. */
export function whole(from = 0, to?: number): Rule {
  const bounds = to === undefined ? { from } : { from, to };
  const needed = `a whole number${wording(bounds)}`;
  return { needed, fits: (value) => Number.isSafeInteger(value) && within(Number(value), bounds) };
}

/** From 0 to 1. */
export const fraction: Rule = /* @__PURE__ */ number({ from: 0, to: 1 });

/** A dropout rate: from 0 to below 1. */
export const dropoutRate: Rule = /* @__PURE__ */ number({ from: 0, below: 1 });

/** true or false. */
export const truth: Rule = { needed: "true or false", fits: (value) => typeof value === "boolean" };

/** Text that is not empty. */
export const text: Rule = { needed: "text", fits: (value) => typeof value === "string" && value !== "" };

/** Whatever TypeScript lets through; checked elsewhere, if at all. */
export const anything: Rule = { needed: "anything", fits: () => true };

/** One of some names. */
export function oneOf(names: readonly string[]): Rule {
  return {
    needed: `one of ${names.join(", ")}`,
    fits: (value) => names.includes(value as string),
    remedy: (value) => didYouMean(String(value), names),
  };
}

/** The value, if it keeps to the rule; else an error that names it. */
export function check<T>(who: string, value: T, { needed, fits, remedy }: Rule): T {
  if (fits(value)) return value;
  return reject({ who, needed, got: printed(value), remedy: remedy?.(value) }, 2);
}

/**
 * Refuses options that are not known, with the name that was probably meant, and values that break their rule. `known` is a table
 * of rules, or only the names. An option that is undefined counts as left out.
 */
export function checkOptions<T extends object>(
  who: string,
  given: T,
  known: Rules<NoInfer<T>> | readonly string[],
): void {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    reject({ who, needed: "an object with options", got: printed(given) }, 2);
  }
  const rules: Readonly<Record<string, Rule>> | undefined = isList(known) ? undefined : known;
  checkNames(who, Object.keys(given), isList(known) ? known : Object.keys(known));
  for (const [name, rule] of Object.entries(rules ?? {})) {
    const value = (given as Record<string, unknown>)[name];
    if (value !== undefined || "required" in rule) check(`${who} / ${name}`, value, rule);
  }
}

/** Options without those that are undefined, so that these do not take the place of defaults. */
export function defined<T extends object>(given: T): T {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;
}

const isList = <T>(known: Rules<T> | readonly string[]): known is readonly string[] => Array.isArray(known);

/** Names of one kind that a list of them is written out for. */
const MOST_LISTED = 24;

function checkNames(who: string, given: readonly string[], known: readonly string[]): void {
  const unknown = given.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const listed = `options among ${known.slice(0, MOST_LISTED).join(", ")}${known.length > MOST_LISTED ? ", …" : ""}`;
  const needed = known.length > 0 ? listed : "no options";
  reject({ who, needed, got: unknown, remedy: didYouMean(unknown, known) ?? "leave it out" }, 2);
}

/** The one of the names that was probably meant: near, or part of the word, or the word part of it. */
export function meant(word: string, names: readonly string[]): string | undefined {
  const small = word.toLowerCase();
  const contained = (part: string, whole: string) => part.length >= 3 && whole.includes(part);
  const isRelated = (name: string) => contained(name, small) || contained(small, name);
  return nearest(word, names) ?? names.find((name) => isRelated(name.toLowerCase()));
}

/** `did you mean rate?`, where there is such a name. */
export function didYouMean(word: string, names: readonly string[]): string | undefined {
  const guess = meant(word, names);
  return guess === undefined ? undefined : `did you mean ${guess}?`;
}

/** A value as errors show it. */
export function printed(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "function") return "a function";
  if (typeof value === "number") return String(value);
  if (ArrayBuffer.isView(value)) return value.constructor.name;
  const json = JSON.stringify(value) ?? String(value);
  return json.length > 60 ? `${json.slice(0, 59)}…` : json;
}
