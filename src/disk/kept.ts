/** The page's disk as the browser keeps it (IndexedDB): all that changed goes there in one transaction, so that what is found again is a moment of the disk. */
import { openShelf } from "../base/indexed-db.ts";
import { disk, HOME } from "./memory.ts";

/** What is not kept: locks, which end with the page, and what can be made again. */
const isPassing = (path: string) =>
  !path.startsWith(`${HOME}/`) || path.endsWith("/lock") || path.startsWith(`${HOME}/.cache/`);

const EVERY_MS = 1000;

/** Reads what was kept, and keeps the disk from now on: at every sync, and once a second. `end` keeps it a last time. */
export async function keepDisk(who: string): Promise<{ end(): Promise<void> }> {
  const within = await openShelf("layerwise-runs", "files", who, "in Node runs are folders: Run.create(path)");
  const names = (await within("readonly", "", (shelf) => shelf.getAllKeys())) ?? [];
  const contents = (await within("readonly", "", (shelf) => shelf.getAll())) as Uint8Array[];
  names.forEach((path, i) => {
    disk.makeFolder(path.slice(0, path.lastIndexOf("/")), true);
    disk.write(path, contents[i]!);
  });
  disk.changed.clear();
  const write = async () => {
    const paths = [...disk.changed].filter((path) => !isPassing(path));
    disk.changed.clear();
    if (paths.length === 0) return;
    await within("readwrite", "runs", (shelf) => {
      for (const path of paths) if (disk.isFile(path)) shelf.put(Uint8Array.from(disk.read(path)), path);
      for (const path of paths) if (!disk.isFile(path)) shelf.delete(path);
      return undefined;
    });
  };
  let before: Promise<void> = Promise.resolve();
  let failure: unknown;
  disk.keep = () => {
    if (failure !== undefined) return Promise.reject(failure);
    const kept = before.then(write);
    before = kept.catch((error: unknown) => {
      failure = error; // such as a full disk: the next that has to be sure is told
    });
    return kept;
  };
  const timer = setInterval(() => disk.keep().catch(() => {}), EVERY_MS);
  return {
    end: async () => {
      clearInterval(timer);
      await disk.keep();
      disk.keep = async () => {};
    },
  };
}
