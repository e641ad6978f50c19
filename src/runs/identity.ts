/** identity.json: what decides the results of a run (settings, text, tokenizer and other files), and every change to it since it began. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { messageOf, rejectFile } from "../base/errors.ts";
import { writeAtomically } from "../files/atomic.ts";
import { sha256, sha256OfFile } from "../files/checksum.ts";
import { readSealed, sealedJson } from "./sealed.ts";

export const IDENTITY_FILE = "identity.json";

/** Settings that were changed when a run was resumed, or a text. */
export interface RunChange {
  /** ISO 8601. */
  readonly time: string;
  /** After which step. */
  readonly step: number;
  /** By setting: what it was, what it is. */
  readonly set: Readonly<Record<string, readonly [from: unknown, to: unknown]>>;
  /** The SHA-256 of the text before, where another one was accepted. */
  readonly text?: string | null;
  /** config.yaml before: the change may have been interrupted. */
  readonly before: string;
}

/** What a run is bound to. */
export interface RunIdentity {
  /** The text of config.yaml. */
  readonly config: string;
  /** A hash of the text it learns from; null where only a program knows it. */
  readonly text: string | null;
  /** SHA-256 of its other files. */
  readonly files: Readonly<Record<string, string>>;
  readonly changes: readonly RunChange[];
}

/** The identity of a run that begins. */
export function newIdentity(
  config: string,
  text: string | null,
  files: Readonly<Record<string, Uint8Array | string>>,
): RunIdentity {
  const hashes = Object.entries(files).map(([name, data]) => [name, sha256(data)]);
  return { config, text, files: Object.fromEntries(hashes), changes: [] };
}

/** Writes it into a run folder. */
export const writeIdentity = (folder: string, identity: RunIdentity): Promise<void> =>
  writeAtomically(join(folder, IDENTITY_FILE), sealedJson(identity));

/** Reads it; where there is none, or one that is damaged, `fault` says what that means. */
export async function readIdentity(folder: string): Promise<{ identity: RunIdentity } | { fault: string }> {
  const path = join(folder, IDENTITY_FILE);
  const unchecked = "changes to its settings, text and tokenizer would not show";
  if (!existsSync(path))
    return { fault: `${folder} has no ${IDENTITY_FILE}: an older layerwise made it; ${unchecked}` };
  try {
    return { identity: readSealed(await readFile(path, "utf8"), path, unchecked).value as RunIdentity };
  } catch (error) {
    return { fault: messageOf(error) };
  }
}

/** A file of a run is as it was written when the run began, as far as its identity tells; else it is refused. */
export async function checkFile(folder: string, name: string): Promise<void> {
  const found = await readIdentity(folder);
  const wanted = "identity" in found ? found.identity.files[name] : undefined;
  if (wanted === undefined) return;
  const path = join(folder, name);
  const got = existsSync(path) ? await sha256OfFile(path) : "no such file";
  if (got !== wanted) {
    rejectFile({ who: path, needed: `SHA-256 ${wanted}`, got, remedy: "it is damaged: put back a copy of it" });
  }
}

/** The config that holds: the file's, where it says what the identity does; one whose change was interrupted is the changed one. */
export async function heldConfig(folder: string, config: string, { config: held, changes }: RunIdentity) {
  if (config === held || config === changes.at(-1)?.before) return held;
  const { parse } = await import("yaml");
  const differing = differences(
    attempt(() => parse(config)),
    parse(held),
  );
  if (differing.length === 0) return config;
  const [key] = differing[0]!.split(" ");
  return rejectFile({
    who: join(folder, "config.yaml"),
    needed: "settings as the run has them",
    got: differing.join(", "),
    remedy: `put it back; settings are changed with \`layerwise resume ${folder} --set ${key}=…\``,
  });
}

function attempt(parse: () => unknown): unknown {
  try {
    return parse();
  } catch {
    return "no YAML";
  }
}

/** `rate 0.001 instead of 0.006`, for every leaf that differs. */
export function differences(found: unknown, held: unknown, at: readonly string[] = []): string[] {
  if (isDeepStrictEqual(found, held)) return [];
  if (!isRecord(found) || !isRecord(held)) {
    return [`${at.join(".") || "config.yaml"} ${JSON.stringify(found)} instead of ${JSON.stringify(held)}`];
  }
  const keys = [...new Set([...Object.keys(held), ...Object.keys(found)])];
  return keys.flatMap((key) => differences(found[key], held[key], [...at, key]));
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
