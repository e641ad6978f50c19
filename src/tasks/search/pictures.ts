/** Pictures of a search on its way: π at every evaluation as SVG, PNG and TensorBoard image, and all of them as a film. */
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { writeAtomically } from "../../files/atomic.ts";
import { encodeGif } from "../../format/gif.ts";
import { encodePng } from "../../format/png.ts";
import { choicePixels, choiceSvg, type Milestone } from "../../pictures/choice-picture.ts";
import type { RunFolder } from "../../runs/folder.ts";
import type { EvaluationEvent } from "../../train/events.ts";
import type { Observer, TaskEvent } from "../job.ts";

const FOLDER = "pictures";
/** The film lasts about this long, its last picture two seconds more. */
const FILM_MS = 8000;
const [SHORTEST_MS, LONGEST_MS, LAST_MS] = [40, 500, 2000];

type Evaluated = Pick<EvaluationEvent, "step" | "choices">;

/** One, or none where there is nothing to choose. */
function milestonesOf({ step, choices = [] }: Evaluated): Milestone[] {
  return choices.some(({ names }) => names.length > 1) ? [{ step, choices }] : [];
}

/** Draws what it sees into a run folder. What an earlier session saw comes back from the run's events. */
export class ChoicePictures implements Observer {
  readonly #run: RunFolder;
  readonly #folder: string;
  readonly #rows: readonly string[];
  readonly #seen: Milestone[];
  #ended = false;

  private constructor(run: RunFolder, rows: readonly string[], seen: Milestone[]) {
    this.#run = run;
    this.#folder = join(run.path, FOLDER);
    this.#rows = rows;
    this.#seen = seen;
  }

  /** `rows` names all candidates; pictures of steps that were cut back are removed. */
  static async open(run: RunFolder, rows: readonly string[]): Promise<ChoicePictures> {
    const events = await run.events();
    const seen = events.flatMap((event) => (event.type === "evaluation" ? milestonesOf(event) : []));
    const pictures = new ChoicePictures(run, rows, seen);
    await pictures.#clear();
    for (const milestone of seen) await pictures.#draw(milestone);
    return pictures;
  }

  async #clear(): Promise<void> {
    const kept = new Set(this.#seen.map(({ step }) => nameOf(step)));
    for (const file of existsSync(this.#folder) ? await readdir(this.#folder) : []) {
      if (!kept.has(file.replace(/\.(svg|png)$/, ""))) await rm(join(this.#folder, file));
    }
  }

  /** Draws an evaluation in which blocks have a choice. */
  async see(event: TaskEvent): Promise<void> {
    if (event.type === "end") this.#ended = event.reason !== "stopped";
    for (const milestone of event.type === "evaluation" ? milestonesOf(event) : []) {
      this.#seen.push(milestone);
      const picture = choicePixels(milestone, this.#rows);
      this.#run.show("valid", milestone.step, [{ tag: "pi", picture, png: encodePng(picture) }]);
      await this.#draw(milestone);
    }
  }

  async #draw(milestone: Milestone): Promise<void> {
    const path = join(this.#folder, nameOf(milestone.step));
    if (existsSync(`${path}.png`)) return; // the last of the two to be written
    await writeAtomically(`${path}.svg`, choiceSvg(milestone, this.#rows));
    await writeAtomically(`${path}.png`, encodePng(choicePixels(milestone, this.#rows)));
  }

  /** Makes the film, unless the search was stopped. */
  async finish(): Promise<void> {
    if (this.#ended) await this.film();
  }

  /** All pictures one after another. */
  async film(): Promise<void> {
    if (this.#seen.length === 0) return;
    const each = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, FILM_MS / this.#seen.length));
    const frames = this.#seen.map((milestone, i) => ({
      picture: choicePixels(milestone, this.#rows),
      ms: i === this.#seen.length - 1 ? LAST_MS : each,
    }));
    await writeAtomically(join(this.#folder, "pi.gif"), encodeGif(frames));
  }
}

const nameOf = (step: number) => `pi-${String(step).padStart(6, "0")}`;
