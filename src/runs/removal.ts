/** Removing runs: never one in training, never a folder that holds more than a run. */
import { existsSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { reject } from "../base/errors.ts";
import { takeLock } from "../files/lock.ts";
import { LOCK_FILE, RunFolder } from "./folder.ts";

/** What runs of all kinds keep at the top of their folder; anything else is not ours. */
const OURS: readonly RegExp[] = [
  /^(config\.yaml|events\.jsonl|log\.txt|lock|tokenizer\.model|environment\.json|identity\.json)$/,
  /^(architecture|costs|seeds|result|retrain)\.json$/,
  /^(checkpoints|pictures|tensorboard|export|seed-\d+)$/,
  /^\..*\.tmp$/,
];

/** Removes runs once all of them may be removed and `agree` has said so; gives whether they are gone. */
export async function removeRuns(
  paths: readonly string[],
  agree: () => boolean | Promise<boolean> = () => true,
): Promise<boolean> {
  for (const path of paths) await checkRemovable(path);
  if (!(await agree())) return false;
  for (const path of paths) {
    takeLock(join(path, LOCK_FILE)); // it may have begun to train while the question stood; from here on it cannot
    await rm(path, { recursive: true });
  }
  return true;
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
