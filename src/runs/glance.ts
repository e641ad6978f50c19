/** A run at a glance, however long it is: a few looks into its events instead of all of them. */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { Progress, StepEvent } from "../train/events.ts";
import type { StoredEvent } from "./event-log.ts";
import { RunFolder } from "./folder.ts";
import { parseYaml } from "./settings-file.ts";
import { bestOf, elapsedOf, median, newestProgress, parameterCount, type RunSummary, statusOf } from "./summary.ts";
import { type EventFile, lookAtEvents } from "./tail.ts";

/** A summary in which `losses` and the median of tokens per second are of steps at even distances. */
export interface RunGlance extends Omit<RunSummary, "bytes" | "pattern"> {
  /** Distinct numbers in its weights. */
  readonly parameters: number | null;
  /** When its first event came, in milliseconds since 1970. */
  readonly startedMs: number | null;
}

const LOOKS = 24;

interface Looked {
  readonly samples: readonly (StoredEvent & StepEvent)[];
  readonly first: StoredEvent | undefined;
  readonly recent: readonly StoredEvent[];
  readonly best: readonly StoredEvent[];
}

const nothing: Looked = { samples: [], first: undefined, recent: [], best: [] };

/** Looks at a run, also while it is being written. */
export async function glanceAt(path: string): Promise<RunGlance> {
  const run = await RunFolder.read(path);
  const checkpoints = await run.checkpoints();
  const progress = await newestProgress(checkpoints);
  const config = parseYaml(run.config, join(path, "config.yaml"));
  const { samples, first, recent, best } = lookAtEvents(path, (events) => look(events, progress)) ?? nothing;
  const [last, step] = [recent.at(-1), recent.findLast(isStep)];
  return {
    path,
    config,
    checkpoints,
    environment: run.environment,
    status: statusOf(run.owner(), last, progress),
    step: last?.step ?? progress?.step ?? 0,
    totalSteps: progress?.totalSteps ?? (typeof config.steps === "number" ? config.steps : null),
    epoch: step?.epoch ?? null,
    lastLoss: step?.loss ?? null,
    best: bestOf([...best, ...recent]),
    tokensPerSecond: median(samples.map(({ tokensPerSecond }) => tokensPerSecond)),
    elapsedMs: elapsedOf(last, progress),
    losses: samples.map(({ loss }) => loss),
    parameters: await parameterCount({ checkpoints }).catch(() => null),
    startedMs: first?.timeMs ?? null,
    changedMs: last?.timeMs ?? statSync(join(path, "config.yaml")).mtimeMs,
  };
}

const isStep = (event: StoredEvent): event is StoredEvent & StepEvent => event.type === "step";

function look(events: EventFile, progress: Progress | undefined): Looked {
  const recent = events.last();
  const best = progress?.best ? events.evaluationsAt(progress.best.step) : [];
  return { samples: samplesOf(events, recent), first: events.after(0), recent, best };
}

/** Steps at even distances, the last one among them, each once. */
function samplesOf(events: EventFile, recent: readonly StoredEvent[]): (StoredEvent & StepEvent)[] {
  const places = Array.from({ length: LOOKS - 1 }, (_, i) => Math.floor((i * events.size) / LOOKS));
  const found = [...places.map((place) => events.after(place)), recent.findLast(isStep)];
  const steps = new Map(found.flatMap((event) => (event && isStep(event) ? [[event.step, event] as const] : [])));
  return [...steps.values()];
}
