/** The last checkpoint of training on a page, kept by the browser (IndexedDB): it outlives the tab. */
import { openShelf } from "../base/indexed-db.ts";
import { check, text } from "../base/options.ts";
import type { TrainEvent, TrainState } from "./events.ts";
import type { Recorder } from "./train.ts";

/** Where `train({ into })` keeps checkpoints, each in the place of the one before; `train({ resume: await last() })` goes on. */
export interface BrowserCheckpoints extends Recorder {
  record(event: TrainEvent): Promise<void>;
  /** The last state that was kept. */
  last(): Promise<TrainState | undefined>;
  /** Forgets it. */
  clear(): Promise<void>;
}

const REMEDY = "in Node keep a run folder: into: await Run.create(path)";

/** Checkpoints of this name, which is yours to choose, of pages of this origin. */
export async function browserCheckpoints(name: string): Promise<BrowserCheckpoints> {
  check("browserCheckpoints / name", name, text);
  const within = await openShelf("layerwise", "checkpoints", "browserCheckpoints", REMEDY);
  return {
    record: async (event) => {
      if (event.type === "checkpoint") await within("readwrite", name, (shelf) => shelf.put(event.state, name));
    },
    last: async () => (await within("readonly", name, (shelf) => shelf.get(name))) as TrainState | undefined,
    clear: async () => void (await within("readwrite", name, (shelf) => shelf.delete(name))),
  };
}
