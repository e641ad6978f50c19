/** Stops runs: one signal to the process that owns the lock of their folder. */
import { hostname } from "node:os";
import { Refusal } from "./refusal.ts";
import type { Entry } from "./run-index.ts";
import type { Studio } from "./studio.ts";

/** Locks whose owners were told already: a second signal would end them at once, without a checkpoint. */
const told = new Set<string>();

/** Asks the owner of a run to stop after its step; gives its process id. */
export function stopRun(studio: Studio, entry: Entry): number {
  const owner = studio.ownerOf(entry);
  const { path } = entry.row;
  if (!owner) throw new Refusal(409, "conflict", `${path} does not run`);
  if (owner.host !== hostname()) throw new Refusal(409, "conflict", `${path} runs on ${owner.host}: stop it there`);
  // A lock may have been copied with its folder. Where the system says when processes began, a stranger is not signalled.
  if (owner.started === null && process.platform === "linux")
    throw new Refusal(409, "conflict", `${path}: its lock does not say which process ${owner.pid} was`);
  if (!told.has(owner.token)) process.kill(owner.pid, "SIGINT");
  told.add(owner.token);
  return owner.pid;
}
