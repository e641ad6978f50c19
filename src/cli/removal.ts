/** Removing runs: never one in training, never a folder that holds more than a run, and not without being asked. */
import { existsSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { reject } from "../base/index.ts";
import { takeLock } from "../files/index.ts";
import { LOCK_FILE, RunFolder } from "../runs/index.ts";

/** What runs of all kinds keep at the top of their folder; anything else is not ours. */
const OURS: readonly RegExp[] = [
  /^(config\.yaml|events\.jsonl|log\.txt|lock|tokenizer\.model|environment\.json|identity\.json)$/,
  /^(architecture|costs|seeds|result|retrain)\.json$/,
  /^(checkpoints|pictures|tensorboard|export|seed-\d+)$/,
  /^\..*\.tmp$/,
];

/** Removes runs once all of them may be removed and somebody has said so. */
export async function removeRuns(paths: readonly string[], { yes = false }: { yes?: boolean }): Promise<void> {
  for (const path of paths) await checkRemovable(path);
  if (!yes && !(await agreed(paths))) return void process.stderr.write("nothing removed\n");
  for (const path of paths) {
    takeLock(join(path, LOCK_FILE)); // it may have begun to train while the question stood; from here on it cannot
    await rm(path, { recursive: true });
    process.stdout.write(`removed ${path}\n`);
  }
}

async function checkRemovable(path: string): Promise<void> {
  if (!existsSync(path) || !(await stat(path)).isDirectory()) {
    reject({ who: path, needed: "a run folder", got: "no such folder", remedy: "list runs with `layerwise runs`" }, 2);
  }
  const run = await RunFolder.read(path);
  const owner = run.owner();
  if (owner?.live) {
    const remedy = `stop it first (Ctrl-C there, or end process ${owner.pid})`;
    reject({ who: path, needed: "a run that is not in training", got: `one of process ${owner.pid}`, remedy }, 1);
  }
  const entries = await readdir(path);
  const stranger = entries.find((name) => !OURS.some((form) => form.test(name)));
  if (stranger === undefined) return;
  const remedy = "move it elsewhere, or remove the folder yourself";
  reject({ who: path, needed: "nothing but what a run keeps", got: join(path, stranger), remedy }, 2);
}

/** Asks on a terminal; elsewhere --yes must be given. */
async function agreed(paths: readonly string[]): Promise<boolean> {
  if (!process.stdin.isTTY) {
    return reject(
      { who: "runs remove", needed: "--yes where nobody can be asked", got: "no terminal", remedy: "add --yes" },
      2,
    );
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await asking.question(`remove ${paths.join(", ")} with all checkpoints? [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    asking.close();
  }
}
