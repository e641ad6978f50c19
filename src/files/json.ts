/** JSON files that hold an object: read whole, and refused in words where they hold something else. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ExitCode, messageOf, rejectFile } from "../base/errors.ts";
import { brokenJsonLine } from "../base/json-place.ts";

/** A JSON file, parsed. */
export interface JsonFile {
  readonly path: string;
  readonly value: unknown;
}

/** Every JSON file below a folder, in the order of their paths; what cannot be read is refused by name. */
export async function jsonFilesBelow(folder: string, exitCode: ExitCode = 1): Promise<JsonFile[]> {
  const unreadable = (who: string) => (error: unknown) =>
    rejectFile({ who, needed: "what can be read", got: messageOf(error) }, exitCode);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(unreadable(folder));
  const paths = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".json"));
  const read = async (path: string) => ({
    path,
    value: await readFile(path, "utf8").then(JSON.parse).catch(unreadable(path)),
  });
  return Promise.all(
    paths
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map(read),
  );
}

/** The object in a text; `source` names it in errors. */
export function parseJsonObject(text: string, source: string, exitCode: ExitCode = 1): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const who = `${source}: line ${brokenJsonLine(text) ?? 1}`;
    return rejectFile({ who, needed: "JSON", got: messageOf(error).slice(0, 120) }, exitCode);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  const got = Array.isArray(value) ? "a list" : value === null ? "null" : `a ${typeof value}`;
  return rejectFile({ who: source, needed: "a JSON object", got }, exitCode);
}

/** The object in a file. */
export async function readJsonObject(path: string, exitCode: ExitCode = 1): Promise<Record<string, unknown>> {
  return parseJsonObject(await readFile(path, "utf8"), path, exitCode);
}
