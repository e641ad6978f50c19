/** The command line in tests: as a process of its own, or within the test's. */
import { type SpawnSyncOptions, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, vi } from "vitest";
import { Command } from "../src/cli/command.ts";

/** What Node is told to run `layerwise …` from its sources. */
export const command = (...args: readonly string[]) => ["--import", "tsx", "src/cli/main.ts", ...args];

/** Runs `layerwise …` to its end. */
export function layerwiseWith(options: Pick<SpawnSyncOptions, "input" | "env">, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, command(...args), { ...options, encoding: "utf8" });
  return { status, stdout, stderr };
}

/** The same with nothing on its standard input. */
export const layerwise = (...args: readonly string[]) => layerwiseWith({}, ...args);

/** Runs a command within this process; gives what it prints, while what it says to a person goes nowhere. */
export async function printedBy(add: (program: Command) => void, ...args: readonly string[]): Promise<string> {
  let printed = "";
  const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed += String(text);
    return true;
  });
  const say = vi.spyOn(process.stderr, "write").mockImplementation(() => true);
  try {
    const program = new Command("layerwise").exitOverride().configureOutput({ writeErr: () => {} });
    add(program);
    await program.parseAsync(args, { from: "user" });
    return printed;
  } finally {
    write.mockRestore();
    say.mockRestore();
  }
}

/** The words of a command line in which single quotes hold words together. */
export const wordsIn = (line: string): string[] =>
  (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ""));

/** A folder for the files of one test file, removed after it. */
export function ownFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `layerwise-${name}-`));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
