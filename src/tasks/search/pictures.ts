/** Pictures of a search on its way: π at every evaluation as SVG, PNG and TensorBoard image, and at the end a film of π, light and dark. */
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../base/errors.ts";
import { once } from "../../base/lazily.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { encodeFilm, type Frame } from "../../format/gif.ts";
import { choiceSvg, type Milestone } from "../../pictures/choice-picture.ts";
import { type Background, PAPER } from "../../pictures/svg.ts";
import type { RunFolder } from "../../runs/folder.ts";
import type { Observer, TaskEvent } from "../job.ts";
import { openRaster, type Raster } from "../raster.ts";

const FOLDER = "pictures";
/** The film lasts about this long, its last picture two seconds more. */
const FILM_MS = 8000;
const [SHORTEST_MS, LONGEST_MS, LAST_MS] = [40, 500, 2000];
const MOST_FRAMES = 60;
const FILMS: Readonly<Record<string, Background>> = { "pi.gif": "light", "pi-dark.gif": "dark" };

/** What a search is, as far as its pictures say so. */
export interface Searched {
  /** Of all candidates, in the order of their rows. */
  readonly names: readonly string[];
  /** Where it is known from the start. */
  readonly totalSteps: number | undefined;
}

/** π over a search: as many moments as its events tell of. */
class Course {
  readonly moments: Milestone[] = [];
  readonly #totalSteps: number | undefined;
  #temperature: number | null = null;
  #perplexity: number | null = null;

  constructor(totalSteps: number | undefined) {
    this.#totalSteps = totalSteps;
  }

  /** The moment that an event tells of, where blocks have a choice in it. An evaluation says more than its step did. */
  see(event: TaskEvent): Milestone | undefined {
    if (event.type !== "step" && event.type !== "evaluation") return undefined;
    if (event.type === "step") this.#temperature = event.scalars?.temperature ?? null;
    else this.#perplexity = event.perplexity ?? null;
    const { step, choices = [], pattern } = event;
    if (!choices.some(({ names }) => names.length > 1)) return undefined;
    const known = { totalSteps: this.#totalSteps, temperature: this.#temperature, perplexity: this.#perplexity };
    const moment: Milestone = { step, choices, pattern, ...known };
    if (this.moments.at(-1)?.step === step) this.moments.pop();
    this.moments.push(moment);
    return moment;
  }
}

/** Draws what it sees into a run folder. What an earlier session saw comes back from the run's events. A picture that fails fails no run. */
export class ChoicePictures implements Observer {
  readonly #run: RunFolder;
  readonly #folder: string;
  readonly #names: readonly string[];
  readonly #course: Course;
  readonly #raster = once(openRaster);
  /** What went wrong, each thing once. */
  readonly #troubles = new Set<string>();
  #ended = false;

  private constructor(run: RunFolder, { names, totalSteps }: Searched) {
    this.#run = run;
    this.#folder = join(run.path, FOLDER);
    this.#names = names;
    this.#course = new Course(totalSteps);
  }

  /** Pictures of steps that were cut back are removed. */
  static async open(run: RunFolder, searched: Searched): Promise<ChoicePictures> {
    const pictures = new ChoicePictures(run, searched);
    const events = await run.events();
    const evaluated = events.flatMap((event) => {
      const moment = pictures.#course.see(event);
      return moment && event.type === "evaluation" ? [moment] : [];
    });
    await pictures.#trying(async () => {
      await pictures.#clear(new Set(evaluated.map(({ step }) => nameOf(step))));
      for (const moment of evaluated) await pictures.#draw(moment);
    });
    return pictures;
  }

  async #clear(kept: ReadonlySet<string>): Promise<void> {
    for (const file of existsSync(this.#folder) ? await readdir(this.#folder) : []) {
      if (!kept.has(file.replace(/\.(svg|png)$/, ""))) await rm(join(this.#folder, file));
    }
  }

  /** Draws an evaluation in which blocks have a choice. */
  async see(event: TaskEvent): Promise<void> {
    if (event.type === "end") this.#ended = event.reason !== "stopped";
    const moment = this.#course.see(event);
    if (!moment || event.type !== "evaluation") return;
    await this.#trying(async () => {
      const drawn = await this.#draw(moment);
      if (drawn)
        this.#run.show(moment.step, [{ tag: "search/pi", picture: { ...drawn, channels: 4 }, png: drawn.bytes }]);
    });
  }

  /** As SVG, and as PNG where there is a rasteriser; a PNG that is there already is the last of the two that was written. */
  async #draw(moment: Milestone): Promise<ReturnType<Raster["png"]> | undefined> {
    const path = join(this.#folder, nameOf(moment.step));
    if (existsSync(`${path}.png`)) return undefined;
    const svg = choiceSvg(moment, this.#names);
    await writeAtomically(`${path}.svg`, svg);
    const png = (await this.#rasteriser())?.png(svg);
    if (png) await writeAtomically(`${path}.png`, png.bytes);
    return png;
  }

  async #rasteriser(): Promise<Raster | undefined> {
    const raster = await this.#raster();
    if (!("because" in raster)) return raster;
    this.#troubles.add(raster.because);
    return undefined;
  }

  async #trying(work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => this.#troubles.add(`a picture could not be made: ${messageOf(error)}`));
  }

  /** Makes the films, unless the search was stopped; says what could not be drawn. */
  async finish(): Promise<readonly string[]> {
    return this.#ended ? this.end() : [...this.#troubles];
  }

  /** Makes the films. */
  async end(): Promise<readonly string[]> {
    await this.#trying(async () => {
      const raster = this.#course.moments.length > 0 ? await this.#rasteriser() : undefined;
      if (!raster) return;
      for (const [name, background] of Object.entries(FILMS)) {
        await writeAtomically(join(this.#folder, name), filmOf(this.#course.moments, this.#names, raster, background));
      }
    });
    return [...this.#troubles];
  }
}

/** A GIF of the moments, the last of which is what was found. */
export function filmOf(
  moments: readonly Milestone[],
  names: readonly string[],
  raster: Raster,
  background: Background,
): Uint8Array {
  const every = Math.ceil(moments.length / MOST_FRAMES);
  const kept = moments.filter((_, i) => (moments.length - 1 - i) % every === 0);
  const shown = kept.map((moment, i) => (i === kept.length - 1 ? { ...moment, final: true } : moment));
  const each = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, FILM_MS / shown.length));
  const drawn = (moment: Milestone) => raster.pixels(choiceSvg(moment, names), { background });
  function* frames(): Generator<Frame> {
    for (const moment of shown) yield { picture: drawn(moment), ms: moment.final ? LAST_MS : each };
  }
  const sample = [0, 1, 2, 3].map((quarter) => drawn(shown[Math.floor((quarter / 3) * (shown.length - 1))]!));
  return encodeFilm(frames(), { sample, exact: [PAPER[background]] });
}

const nameOf = (step: number) => `pi-${String(step).padStart(6, "0")}`;
