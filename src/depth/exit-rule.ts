/** Rules of exits as text; loads no model, so that a command may read its flags with it. */
import type { ExitRule } from "./exits.ts";

/** A rule as text, `last` or with a level `difference:0.1`; undefined where it is none. */
export function parseExitRule(text: string): ExitRule | undefined {
  const [, kind, level] = /^([a-z]+)(?::(\d*\.?\d+))?$/.exec(text) ?? [];
  if (kind === undefined) return undefined;
  return { kind: kind as ExitRule["kind"], ...(level === undefined ? {} : { level: Number(level) }) };
}
