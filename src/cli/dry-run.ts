/** `--dry-run` of all commands that train. */

import { factTable } from "../base/index.ts";
import { dryRun, type Rehearsed } from "../tasks/index.ts";
import { print } from "./output.ts";

/** Prints what a run would be and how long it would take. */
export async function printDryRun(job: Rehearsed, json = false): Promise<void> {
  const facts = await dryRun(job);
  print(json ? JSON.stringify(facts) : factTable(facts));
}
