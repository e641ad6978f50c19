/** The setting `depth` of tasks that take it as a number or in words. */
import { reject } from "../base/errors.ts";
import { LARGEST } from "../base/limits.ts";
import { parseDepth, printDepth } from "../depth/notation.ts";
import { either, text, whole } from "../runs/fields.ts";

/** How many blocks run, or in words which do, how often, and who decides. */
export const depthField = (description: string, blocks = 4) =>
  either(
    whole(blocks, "", 1, LARGEST.depth),
    text("2 + 4*3 halt + 1", ""),
    description,
    `a whole number from 1 to ${LARGEST.depth}, or a text such as 2 + 4*3 halt + 1`,
  );

/** Settings beside a depth, and what they are where nobody sets them. */
export interface Beside {
  /** What the depth is called. */
  readonly who: string;
  /** Settings that a text says itself. */
  readonly said: readonly string[];
  readonly given: Readonly<Record<string, unknown>>;
  readonly defaults: Readonly<Record<string, unknown>>;
}

/** What a layer of settings ends in presets before it: a depth in words says all of `said`. */
export const endedInWords =
  (said: readonly string[]) =>
  ({ depth }: { readonly depth?: string | number | undefined }): readonly string[] =>
    typeof depth === "string" && !/^\s*\d+\s*$/.test(depth) ? said : [];

/** The text as it is printed, or its number; settings beside it that it says itself are refused. */
export function depthInWords(depth: string, beside: Beside): string | number {
  const written = printDepth(parseDepth(depth));
  return /^\d+$/.test(written) ? Number(written) : saidAlone(written, beside);
}

/** A written depth, once nothing beside it says the same. */
export function saidAlone(written: string, { who, said, given, defaults }: Beside): string {
  const stranger = said.find((key) => given[key] !== defaults[key]);
  if (stranger === undefined) return written;
  const remedy = "say it in the depth, such as 4*3 halt(ponder=0.01), or give the depth as a number";
  const got = `${stranger} beside ${JSON.stringify(written)}`;
  return reject({ who, needed: "all of it in one text", got, remedy }, 2);
}
