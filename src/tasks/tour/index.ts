/** `layerwise/tasks/tour`: share, search and adapt shown on the embedded books within minutes, with figures that are computed on the spot. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { reject } from "../../base/errors.ts";
import { check, checkOptions, whole } from "../../base/options.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { type Session, type Stoppable, startSession } from "../../train/session.ts";
import { defaultEngine } from "../engine.ts";
import type { Handed } from "../job.ts";
import { adaptFinding, searchFinding, shareFinding } from "./findings.ts";
import { Course, type TourEvent } from "./laps.ts";
import { adaptPart, type Part, searchPart, sharePart } from "./parts.ts";
import { type PartName, partNames } from "./recipe.ts";
import { reportHtml } from "./report.ts";
import type { TourParts, TourResult } from "./results.ts";

export type { FindingEvent, PartEvent, ProgressEvent, RunEvent, TourEvent } from "./laps.ts";
export type { PartName } from "./recipe.ts";
export type { AdaptResult, SearchedResult, SharedModel, ShareResult, TourParts, TourResult } from "./results.ts";
export { TourView, tourSummary } from "./view.ts";

/** How a tour is made. */
export interface TourOptions extends Pick<Handed, "engine">, Stoppable {
  /** The folder of its runs and its report. One that was stopped goes on. */
  readonly out: string;
  /** Default: 1, or that of the tour which goes on. */
  readonly seed?: number | undefined;
  /** Updates of every run, to try the tour out. Default: what each needs. */
  readonly steps?: number | undefined;
  /** Commands to try next, for the report. */
  readonly next?: readonly string[] | undefined;
}

const optionNames = ["out", "seed", "steps", "engine", "signal", "next"];
/** The file that makes a folder a tour's. */
const RESULT_FILE = "tour.json";
const REPORT_FILE = "report.html";

/** How a part is carried out, and what is said of it. */
const parts: { readonly [P in PartName]: PartOf<NonNullable<TourParts[P]>> } = {
  share: { carryOut: sharePart, finding: shareFinding },
  search: { carryOut: searchPart, finding: searchFinding },
  adapt: { carryOut: adaptPart, finding: adaptFinding },
};

interface PartOf<R> {
  carryOut(course: Course): Part<R>;
  finding(result: R): string;
}

/** Shows share, search and adapt. Iterate the session to watch, or await its result; a tour that is stopped keeps what it has. */
export function tour(options: TourOptions): Session<TourEvent, TourResult> {
  checkOptions("tour", options, optionNames);
  for (const name of ["seed", "steps"] as const) {
    if (options[name] !== undefined) check(`tour / ${name}`, options[name], whole(name === "seed" ? 0 : 1));
  }
  return startSession((signal) => touring(options, signal), options.signal);
}

async function* touring(options: TourOptions, signal: AbortSignal): AsyncGenerator<TourEvent, TourResult, void> {
  const before = await begunTour(options);
  const { path, seed, steps } = before;
  const course = new Course(path, { seed, steps }, options.engine ?? (await defaultEngine()), signal);
  const start = performance.now();
  let kept: Kept = before;
  for (const name of partNames) {
    if (kept[name] === null) {
      yield { type: "part", part: name };
      const result = yield* parts[name].carryOut(course);
      kept = { ...kept, [name]: result, elapsedMs: before.elapsedMs + performance.now() - start };
      await keep(kept, options.next);
    }
    if (kept[name] === null) break;
    yield { type: "finding", part: name, sentence: findingsOf(kept)[name]! };
  }
  return resultOf(kept);
}

/** What tour.json keeps. */
interface Kept extends TourParts {
  readonly path: string;
  readonly seed: number;
  readonly steps: number | undefined;
  readonly elapsedMs: number;
}

/** A new tour, or what one that was stopped has come to. */
async function begunTour({ out: path, seed, steps }: TourOptions): Promise<Kept> {
  const fresh = { path, seed: seed ?? 1, steps, elapsedMs: 0, share: null, search: null, adapt: null };
  const file = join(path, RESULT_FILE);
  if (!existsSync(path)) {
    await keep(fresh);
    return fresh;
  }
  if (!existsSync(file)) {
    return reject({ who: path, needed: "a new folder, or a tour's", got: "another one", remedy: "name another" }, 2);
  }
  const kept: Kept = { steps: undefined, ...JSON.parse(await readFile(file, "utf8")), path };
  const differs = (seed ?? kept.seed) !== kept.seed || (steps ?? kept.steps) !== kept.steps;
  if (!differs) return kept;
  const remedy = "leave --seed and --steps out, or name another folder";
  return reject({ who: path, needed: `seed ${kept.seed} and its own updates`, got: "others", remedy }, 2);
}

function findingsOf(kept: TourParts): TourResult["findings"] {
  const { share, search, adapt } = kept;
  return {
    ...(share ? { share: parts.share.finding(share) } : {}),
    ...(search ? { search: parts.search.finding(search) } : {}),
    ...(adapt ? { adapt: parts.adapt.finding(adapt) } : {}),
  };
}

function resultOf({ steps: _, ...kept }: Kept): TourResult {
  const reason = partNames.every((name) => kept[name] !== null) ? "finished" : "stopped";
  return { ...kept, reason, findings: findingsOf(kept), report: join(kept.path, REPORT_FILE) };
}

/** The report first: a tour whose file says that a part has ended has its pictures. */
async function keep(kept: Kept, next: readonly string[] = []): Promise<void> {
  const { path, ...data } = kept;
  await writeAtomically(join(path, REPORT_FILE), reportHtml(resultOf(kept), next));
  await writeAtomically(join(path, RESULT_FILE), `${JSON.stringify(data, null, 2)}\n`);
}
