/** The papers as a command: `reproduce("share" | "search" | "adapt")` runs a paper's experiment, goes on where it was stopped, and reports. */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { reject } from "../../base/errors.ts";
import { LARGEST } from "../../base/limits.ts";
import { check, checkOptions, oneOf, whole } from "../../base/options.ts";
import { formatNumber } from "../../base/table.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { takeLock } from "../../files/lock.ts";
import { LOCK_FILE } from "../../runs/folder.ts";
import { readSealed, sealedJson } from "../../runs/sealed.ts";
import { estimatedSeconds } from "../../tasks/dry-run.ts";
import { worldSize } from "../../tasks/mpi.ts";
import { type ReportFiles, writeReport } from "../../tasks/papers/report.ts";
import { dataFolder } from "../../text/files/corpus.ts";
import { type Session, type Stoppable, startSession } from "../../train/session.ts";
import { hereLauncher } from "../here.ts";
import type { SweepEvent } from "../launcher.ts";
import { readSingle } from "../orders.ts";
import type { SweepOptions, SweepResult } from "../sweep.ts";
import type { AdaptFigures } from "./adapt.ts";
import type { Claim } from "./claims.ts";
import { Course, type Experiment, note, type PartTime, type ReproducePreset, reproducePresets } from "./course.ts";
import { reportOf } from "./paper-report.ts";
import type { SearchFigures } from "./search.ts";
import type { ShareFigures } from "./share.ts";

/** What each paper's experiment measures. */
export interface PaperFigures {
  readonly share: ShareFigures;
  readonly search: SearchFigures;
  readonly adapt: AdaptFigures;
}
/** A paper, by what it is about. */
export type PaperName = keyof PaperFigures;

const experiments: { readonly [P in PaperName]: () => Promise<Experiment<PaperFigures[P]>> } = {
  share: async () => (await import("./share.ts")).share,
  search: async () => (await import("./search.ts")).search,
  adapt: async () => (await import("./adapt.ts")).adapt,
};

/** The papers that can be run again. */
export const paperNames = Object.keys(experiments) as PaperName[];

/** How a paper is run again. */
export interface ReproduceOptions extends Stoppable {
  /** The folder of its runs and its report; one that was stopped goes on. Default: `runs/reproduce-PAPER`. */
  readonly out?: string | undefined;
  /** Default: laptop, or that of the folder. */
  readonly preset?: ReproducePreset | undefined;
  /** Seeds 1 to n. Default: 3, or those of the folder; more may be asked for later. */
  readonly seeds?: number | undefined;
  /** Folder of datasets. Default: LAYERWISE_DATA, or one in the cache. */
  readonly data?: string | undefined;
  /** Of each training. Default: those of the machine. */
  readonly threads?: number | undefined;
  /** Where trainings run, as for `sweep`. Default: one after another in this process. */
  readonly on?: SweepOptions["on"];
}

/** What a reproduction came to, as far as it is done. */
export interface ReproduceResult<P extends PaperName = PaperName> {
  readonly paper: P;
  readonly preset: ReproducePreset;
  readonly seeds: number;
  readonly path: string;
  readonly reason: SweepResult["reason"];
  readonly figures: PaperFigures[P];
  readonly claims: readonly Claim[];
  readonly times: readonly PartTime[];
  readonly report: ReportFiles;
}

/** How long a reproduction would take. */
export interface ReproduceEstimate {
  readonly paper: PaperName;
  readonly preset: ReproducePreset;
  readonly seeds: number;
  /** Of trainings, by a few updates here and now, without measurements after them. */
  readonly seconds: number;
}

const FILE = "reproduce.json";
const optionNames = ["out", "preset", "seeds", "data", "threads", "on", "signal"];

/** What a folder was begun with. */
interface Begun {
  readonly paper: PaperName;
  readonly preset: ReproducePreset;
  readonly seeds: number;
  readonly data: string | null;
  readonly threads: number | null;
}

/** Runs a paper's experiment again, or goes on with it; trainings that have ended are not done again. */
export function reproduce<P extends PaperName>(
  paper: P,
  options: ReproduceOptions = {},
): Session<SweepEvent, ReproduceResult<P>> {
  checkRequest(paper, options);
  return startSession((signal) => reproducing(paper, options, signal), options.signal);
}

/** Says how long a paper's trainings would take, by a few updates; nothing is kept. */
export async function estimateReproduction(
  paper: PaperName,
  options: ReproduceOptions = {},
): Promise<ReproduceEstimate> {
  checkRequest(paper, options);
  const { preset, seeds, ...begun } = await begunWith(paper, options);
  const experiment = await experiments[paper]();
  refuseMissing(paper, experiment, preset, begun.data);
  const path = options.out ?? defaultFolder(paper);
  const { signal } = new AbortController();
  const course = new Course({ ...begun, preset, seeds, path, on: hereLauncher(), signal });
  return { paper, preset, seeds, seconds: await secondsOf(experiment, course) };
}

function checkRequest(paper: string, options: ReproduceOptions): void {
  check("reproduce / paper", paper, oneOf(paperNames));
  checkOptions(`reproduce ${paper}`, options, optionNames);
  const { preset, seeds, threads } = options;
  if (preset !== undefined) check("reproduce / preset", preset, oneOf(reproducePresets));
  if (seeds !== undefined) check("reproduce / seeds", seeds, whole(1, LARGEST.seeds));
  if (threads !== undefined) check("reproduce / threads", threads, whole(1, LARGEST.threads));
  if (worldSize() > 1) {
    reject({ who: "reproduce", needed: "one process", got: `${worldSize()} of mpirun`, remedy: "use --on local:N" }, 2);
  }
}

const defaultFolder = (paper: PaperName) => join("runs", `reproduce-${paper}`);

async function* reproducing<P extends PaperName>(
  paper: P,
  options: ReproduceOptions,
  signal: AbortSignal,
): AsyncGenerator<SweepEvent, ReproduceResult<P>, void> {
  const { out: path = defaultFolder(paper), on = hereLauncher() } = options;
  const begun = await begunWith(paper, options);
  const experiment = await experiments[paper]();
  refuseMissing(paper, experiment, begun.preset, begun.data);
  const isNew = !existsSync(join(path, FILE));
  await mkdir(path, { recursive: true });
  const lock = takeLock(join(path, LOCK_FILE));
  try {
    await writeAtomically(join(path, FILE), sealedJson(begun));
    const course = new Course({ ...begun, path, on, signal });
    if (isNew && begun.preset !== "tiny") yield* expectation(experiment, course);
    const outcome = yield* experiment.carryOut(course);
    const claims = experiment.claims(outcome.figures);
    const report = await writeReport(path, reportOf(experiment, { ...begun, ...outcome, claims, path }));
    const { preset, seeds } = begun;
    const result = { paper, preset, seeds, path, ...outcome, claims, report };
    await writeAtomically(join(path, "result.json"), sealedJson(result));
    return result;
  } finally {
    lock.release();
  }
}

/** What was asked for, over what the folder was begun with; another paper or size in it is refused. */
async function begunWith(paper: PaperName, options: ReproduceOptions): Promise<Begun> {
  const { out: path = defaultFolder(paper), preset, seeds, data, threads } = options;
  const file = join(path, FILE);
  const own = { paper, preset: preset ?? "laptop", seeds: seeds ?? 3, data: data ?? null, threads: threads ?? null };
  if (!existsSync(file)) {
    const others = existsSync(path) ? (await readdir(path)).filter((name) => !isLeftOver(name)) : [];
    if (others.length > 0) refuseFolder(path, others.slice(0, 3).join(", "));
    return own;
  }
  const kept = readSealed(await readFile(file, "utf8"), file, "name another folder").value as Begun;
  const isSame = kept.paper === paper && (preset ?? kept.preset) === kept.preset;
  if (!isSame) refuseFolder(path, `reproduce ${kept.paper} --preset ${kept.preset}`);
  const { data: place = kept.data, threads: width = kept.threads } = options;
  return { ...kept, seeds: seeds ?? kept.seeds, data: place, threads: width };
}

/** What a command leaves that was killed before it had begun. */
const isLeftOver = (name: string) => name === LOCK_FILE || /^\..*\.tmp$/.test(name);

function refuseFolder(path: string, got: string): never {
  const needed = "a new folder, or that of the same paper and size";
  return reject({ who: path, needed, got, remedy: "name another with --out" }, 2);
}

/** Refuses to begin without its texts; says which, and how they are fetched. */
function refuseMissing(
  paper: PaperName,
  { needs }: Pick<Experiment<object>, "needs">,
  preset: ReproducePreset,
  data: string | null,
): void {
  if (preset === "tiny") return;
  const folder = dataFolder(data ?? undefined);
  const missing = needs.flatMap(({ dataset, files }) => {
    const file = files.find((names) => !names.some((name) => existsSync(join(folder, name))));
    return file ? [{ dataset, file: file[0]! }] : [];
  });
  if (missing.length === 0) return;
  const where = data === null ? "" : ` --data ${data}`;
  reject(
    {
      who: `reproduce ${paper}`,
      needed: `${needs.map(({ dataset }) => dataset).join(" and ")} in ${folder}`,
      got: `no ${missing.map(({ file }) => file).join(" and no ")}`,
      remedy: `${missing.map(({ dataset }) => `layerwise data download ${dataset}${where}`).join("; ")}; or say with --data where they lie`,
    },
    2,
  );
}

type Expecting = Pick<Experiment<object>, "expected">;

async function secondsOf({ expected }: Expecting, course: Course): Promise<number> {
  const { tried, seconds } = await expected(course);
  let total = seconds;
  for (const { order, count } of tried) {
    total += count * (await estimatedSeconds(await (await readSingle(order, {})).open()));
  }
  return total;
}

/** How long it will take, in words. */
async function* expectation(experiment: Expecting, course: Course): AsyncGenerator<SweepEvent, void, void> {
  yield note("trying a few updates, to say how long it takes");
  const seconds = await secondsOf(experiment, course);
  yield note(`expected: ${durationText(seconds)} of training; stopped or killed, the same command goes on`);
}

/** `about 3.5 hours`, `about 12 minutes` on this machine, for one training after another. */
export function durationText(seconds: number): string {
  const [hours, minutes] = [seconds / 3600, seconds / 60];
  const said = hours >= 1 ? `${formatNumber(hours, 1)} hours` : `${formatNumber(Math.max(1, minutes), 0)} minutes`;
  return `about ${said}`;
}
