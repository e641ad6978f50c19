/** Flags of a bench's own, told by their defaults. */
import { parseArgs } from "node:util";

type Flag = string | boolean | undefined;
type Values<F extends Readonly<Record<string, Flag>>> = {
  [K in keyof F]: F[K] extends boolean ? boolean : F[K] extends string ? string : string | undefined;
};

/** Reads the command line: a default is a text, or false for a switch; undefined where a flag has none. `takesRest`: words may follow. */
export function flagsOf<F extends Readonly<Record<string, Flag>>>(
  defaults: F,
  takesRest = false,
): { values: Values<F>; rest: string[] } {
  const options = Object.entries(defaults).map(([name, value]) => {
    const type = typeof value === "boolean" ? ("boolean" as const) : ("string" as const);
    return [name, value === undefined ? { type } : { type, default: value }] as const;
  });
  const { values, positionals } = parseArgs({ options: Object.fromEntries(options), allowPositionals: takesRest });
  return { values: values as Values<F>, rest: positionals };
}

/** Where a bench leaves a page or a picture: what is committed changes only where it is asked to. */
export const placeFor = (out: string | undefined, write: boolean, committed: string): string | undefined =>
  out ?? (write ? committed : undefined);

/** The option of an engine with so many threads, or with its default. */
export const threadsOf = (threads: string | undefined) => (threads === undefined ? {} : { threads: Number(threads) });
