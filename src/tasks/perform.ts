/** Carries jobs out: one function opens a run folder around any task's events, one goes on with what was begun. */

import type { Engine } from "../engine/engine.ts";
import { RunFolder } from "../runs/folder.ts";
import type { OpenTokenizer } from "../text/tokenizer.ts";
import { Diverged, type Divergence } from "../train/diverged.ts";
import type { TrainState } from "../train/events.ts";
import { type Session, type Stoppable, startSession, watched } from "../train/session.ts";
import { told } from "../train/world.ts";
import { changedConfig, isNewText, lengthened, lengthens, settingsIn } from "./changes.ts";
import { engineAsBegun } from "./engine.ts";
import { changes, environment } from "./environment.ts";
import { lengthFact } from "./facts.ts";
import type { Fact, Job, NoteEvent, Say, TaskEvent } from "./job.ts";
import { worldRank } from "./mpi.ts";
import type { NewRun } from "./new-run.ts";
import { keptTokenizer, type ResumeOptions } from "./open-run.ts";

/** Where a task keeps what happens, and what stops it. */
export interface Performing extends Stoppable {
  /** The run folder to fill. Default: nothing is kept. */
  readonly into?: NewRun | undefined;
}

/** A session that carries a job out, into a run folder where one is given. */
export function perform<R>(job: Job<R>, { into, signal }: Performing = {}): Session<TaskEvent, R> {
  return startSession((stop) => performed(job, into, stop), signal);
}

/** A session that opens a job and carries it out; what is said while it is opened comes as notes. */
export function performOpened<R>(
  open: (say: Say) => Promise<Job<R>>,
  { into, signal }: Performing = {},
): Session<TaskEvent, R> {
  return startSession(async function* (stop) {
    const said: string[] = [];
    const job = await open((text) => said.push(text));
    yield* said.map(note);
    return yield* performed(job, into, stop);
  }, signal);
}

/** The same as a generator, for tasks that are made of several runs. */
export async function* performed<R>(
  job: Job<R>,
  into: NewRun | undefined,
  signal: AbortSignal,
  resume?: TrainState,
): AsyncGenerator<TaskEvent, R, void> {
  const { config, files, keep, text } = job;
  const begun = isFirst(job) ? into : undefined;
  const run = await begun?.begin({ config, files, text, environment: await environment(job.engine) }, { keep });
  try {
    const facts = job.describe();
    run?.show(0, [{ tag: "model", text: factsTable(facts) }]);
    run?.log(facts.map(({ what, value }) => `${what}  ${value}`).join("\n"));
    return yield* recorded(job, run, resume, signal);
  } finally {
    run?.close();
  }
}

/** In Markdown. */
const factsTable = (facts: readonly Fact[]) =>
  ["| | |", "|---|---|", ...facts.map(({ what, value }) => `| ${what} | ${value.replaceAll("|", "\\|")} |`)].join("\n");

/** Of processes that train together the first keeps the run. */
const isFirst = ({ engine: { world } }: Job) => world === undefined || world.rank === 0;

const note = (text: string): NoteEvent => ({ type: "note", text });

/** What reopening a run takes over: its engine as it was, the tokenizer it keeps, and what the caller gives. */
export interface Reopened extends Omit<ResumeOptions, "signal"> {
  readonly engine: Engine;
  readonly tokenizer: OpenTokenizer | undefined;
}

/** Opens the job of a run that was begun; `resume` is its last state, if it has one. */
export type Reopen<R> = (run: RunFolder, resume: TrainState | undefined, given: Reopened) => Promise<Job<R>>;

/** A session that goes on with a run from its last checkpoint, exactly as if it had never stopped; one that has ended gives its result. */
export function resumeRun<R>(path: string, options: ResumeOptions, reopen: Reopen<R>): Session<TaskEvent, R> {
  return startSession((signal) => resumed(path, options, reopen, signal), options.signal);
}

/** The same as a generator. */
export async function* resumed<R>(
  path: string,
  { signal: _, ...options }: ResumeOptions,
  reopen: Reopen<R>,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, R, void> {
  const first = worldRank() === 0;
  const run = first ? await RunFolder.open(path) : await RunFolder.read(path);
  try {
    for (const warning of [...run.warnings, ...damagedLines(run)]) yield note(warning);
    const stored =
      (await run.checkpoints()).length > 0 ? await run.readCheckpoint("last", { finite: true }) : undefined;
    for (const warning of stored?.warnings ?? []) yield note(warning);
    const settings = settingsIn(options);
    const hasEnded = stored?.state.progress.finished === true && !lengthens(settings);
    const isChanged = !hasEnded && Object.keys(settings).length > 0;
    const held = run.config;
    const changed = isChanged ? await changedConfig(held, path, settings) : { config: held, set: {} };
    run.config = changed.config;
    const engine = options.engine ?? (await engineAsBegun(run.environment));
    const job = await reopen(run, stored?.state, { ...options, engine, tokenizer: await keptTokenizer(path) });
    run.keep = job.keep;
    if (hasEnded) {
      if (Object.keys(settings).length > 0)
        yield note(`${path} has ended: nothing is changed; --steps makes it longer`);
      const result = await job.concluded(stored.state, run);
      if (first) await completed(run, stored.state);
      if (first) await keep(run, job, result);
      return result;
    }
    const otherText = isNewText(run, job, options.newText ?? false);
    const state = stored && lengthens(settings) ? lengthened(stored.state, job) : stored?.state;
    const step = stored?.step ?? 0;
    await told(job.engine.world, () => null); // all have read what the first now writes
    if (!first) return yield* recorded(job, undefined, state, signal);
    run.config = held;
    await run.bind(job.text);
    if (otherText || Object.keys(changed.set).length > 0) await run.change({ ...changed, text: job.text, step });
    for (const change of changes(run.environment, await environment(job.engine))) {
      yield note(`not as when the run began: ${change}; results may differ in the last bit`);
    }
    await run.cutBack(step);
    await run.prune();
    return yield* recorded(job, run, state, signal);
  } finally {
    run.close();
  }
}

/** A kill may have come between the last checkpoint and what follows it: the removal of an older one, the line that says how it ended. */
async function completed(run: RunFolder, { progress }: TrainState): Promise<void> {
  await run.prune();
  const last = run.eventLog().events.at(-1);
  if (last === undefined || last.type === "end") return;
  const { step, totalSteps, elapsedMs } = progress;
  await run.cutBack(step); // the kill may have cut a line short
  run.append({ type: "end", step, reason: step === totalSteps ? "finished" : "stopped early", elapsedMs });
}

function damagedLines(run: RunFolder): string[] {
  const { damaged } = run.eventLog();
  return damaged === 0 ? [] : [`${run.path}/events.jsonl: ${damaged} damaged or cut short lines are left out`];
}

/** A job's events, kept in the run folder as they come. */
async function* recorded<R>(
  job: Job<R>,
  run: RunFolder | undefined,
  resume: TrainState | undefined,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, R, void> {
  const { totalSteps, minutes } = job.length;
  const total = resume?.progress.totalSteps ?? totalSteps;
  const { step = 0, elapsedMs = 0 } = resume?.progress ?? {};
  const facts = [...job.describe(), lengthFact({ totalSteps: total, minutes }, step)];
  yield { type: "begin", path: run?.path, totalSteps: total, minutes, step, elapsedMs, facts };
  const observer = run && (await job.attach?.(run));
  let stored = resume?.progress.step ?? null;
  const result = yield* toldOf(
    watched(job.events({ resume, signal }), async (event) => {
      if (event.type === "note") run?.log(event.text);
      else await run?.record(event);
      if (event.type === "checkpoint") stored = event.step;
      await observer?.see(event);
    }),
    () => run && { run: run.path, step: stored },
  );
  for (const text of (await observer?.finish()) ?? []) {
    run?.log(text);
    yield note(text);
  }
  if (run) await keep(run, job, result);
  return result;
}

/** Events whose divergence says which checkpoint there is to go on from. */
async function* toldOf<R>(
  events: AsyncGenerator<TaskEvent, R, void>,
  kept: () => Divergence["kept"],
): AsyncGenerator<TaskEvent, R, void> {
  try {
    return yield* events;
  } catch (error) {
    throw error instanceof Diverged ? new Diverged({ ...error, kept: kept() }) : error;
  }
}

async function keep<R>(run: RunFolder, job: Job<R>, result: R): Promise<void> {
  for (const [name, text] of Object.entries(job.kept?.(result) ?? {})) await run.writeFile(name, text);
}
