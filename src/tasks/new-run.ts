/** A run folder to be filled: it becomes a run in one step, when all that it needs is there. */
import { type RunContent, RunFolder, type RunOptions, refuseTaken } from "../runs/folder.ts";
import { worldRank } from "./mpi.ts";

/** Where a session keeps what happens. Nothing is written before the session begins. */
export interface NewRun {
  readonly path: string;
  /** Makes the folder, open for writing. */
  begin(content: RunContent, options?: RunOptions): Promise<RunFolder>;
}

/** A place for a run; refused at once where there is one already, or other files. */
export async function newRun(path: string): Promise<NewRun> {
  if (worldRank() === 0) refuseTaken(path); // of processes that train together the first makes it
  return { path, begin: (content, options) => RunFolder.create(path, content, options) };
}
