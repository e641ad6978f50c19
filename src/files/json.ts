/** JSON files that hold an object: read whole, and refused in words where they hold something else. */
import { readFile } from "node:fs/promises";
import { type ExitCode, messageOf, rejectFile } from "../base/errors.ts";

/** The object in a text; `source` names it in errors. */
export function parseJsonObject(text: string, source: string, exitCode: ExitCode = 1): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return rejectFile({ who: source, needed: "JSON", got: messageOf(error).slice(0, 120) }, exitCode);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  const got = Array.isArray(value) ? "a list" : value === null ? "null" : `a ${typeof value}`;
  return rejectFile({ who: source, needed: "a JSON object", got }, exitCode);
}

/** The object in a file. */
export async function readJsonObject(path: string, exitCode: ExitCode = 1): Promise<Record<string, unknown>> {
  return parseJsonObject(await readFile(path, "utf8"), path, exitCode);
}
