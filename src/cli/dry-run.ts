/** `--dry-run` of all commands that train. */

import { factTable } from "../base/index.ts";
import { dryRun, type Rehearsed } from "../tasks/index.ts";
import { counting, print } from "./output.ts";

/** Prints what a run would be and how long it would take. */
export async function printDryRun(job: Rehearsed, json = false): Promise<void> {
  const facts = await counting("measuring", "steps", (onStep) => dryRun(job, onStep));
  print(json ? JSON.stringify(facts) : factTable(facts));
}
