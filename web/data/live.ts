/** The page's one stream of server-sent events, and what every view stands on: rows of runs, and jobs. */
import { computed, effect, signal } from "@preact/signals";
import type { About, JobState, RunId, RunList, RunRow, SweepName, Update } from "../../src/studio/api.ts";
import { get, record, type ServerError, saved } from "./server.ts";

/** What a view wants to hear of, besides rows and jobs. */
export interface Wish {
  /** Runs with the cursor of what was fetched. */
  readonly runs: readonly { readonly id: RunId; readonly cursor?: string }[];
  readonly metrics?: readonly string[];
  readonly x?: string;
  readonly frames?: boolean;
  readonly log?: boolean;
  readonly onUpdate: (update: Update) => void;
  /** The stream broke and is back: what was missed must be fetched. */
  readonly onGap: () => void;
}

export const rows = signal<ReadonlyMap<RunId, RunRow>>(new Map());
export const jobs = signal<readonly JobState[]>([]);
/** Undefined until the first list has come. */
export const sweeps = signal<readonly SweepName[] | undefined>(undefined);
export const about = signal<About | undefined>(undefined);
/** `waiting` until the first list has come. */
export const connection = signal<"waiting" | "live" | "lost" | "saved">(saved ? "saved" : "waiting");
export const failure = signal<ServerError | undefined>(undefined);
export const truncated = signal(false);
/** Runs by their last change, newest first. */
export const newest = computed(() => [...rows.value.values()].sort((a, b) => b.changedMs - a.changedMs));

const wish = signal<Wish | undefined>(undefined);

/** Asks for a view's events; the answer ends them. */
export function listen(wanted: Wish): () => void {
  wish.value = wanted;
  return () => {
    if (wish.peek() === wanted) wish.value = undefined;
  };
}

/** Opens the stream, again whenever a view wishes for something else. */
export function connect(): void {
  void loadAbout();
  if (saved) return void loadRows();
  effect(() => {
    const wanted = wish.value;
    const stream = new EventSource(address(wanted));
    let opened = false;
    stream.addEventListener("open", () => {
      void loadRows();
      connection.value = "live";
      if (opened) wanted?.onGap();
      opened = true;
    });
    stream.addEventListener("update", ({ data }) => take(JSON.parse(data) as Update, wanted));
    stream.addEventListener("error", () => {
      connection.value = "lost";
      if (rows.peek().size === 0) void loadRows();
    });
    return () => stream.close();
  });
}

function address(wanted: Wish | undefined): string {
  const query = new URLSearchParams({ runs: "1" });
  for (const { id, cursor } of wanted?.runs.slice(0, 16) ?? []) query.append("run", cursor ? `${id}@${cursor}` : id);
  if (wanted?.metrics) query.set("metrics", wanted.metrics.join(","));
  if (wanted?.x) query.set("x", wanted.x);
  if (wanted?.frames) query.set("frames", "1");
  if (wanted?.log) query.set("log", "1");
  return `/api/events?${query}`;
}

async function loadRows(): Promise<void> {
  try {
    const list = await get<RunList>("/api/runs");
    rows.value = new Map(list.runs.map((row) => [row.id, row]));
    jobs.value = list.jobs;
    sweeps.value = list.sweeps;
    truncated.value = list.truncated;
    failure.value = undefined;
  } catch (error) {
    failure.value = error as ServerError;
  }
}

async function loadAbout(): Promise<void> {
  about.value = await get<About>("/api/about").catch(() => undefined);
}

function take(update: Update, wanted: Wish | undefined): void {
  if (update.runs || update.removed) {
    const next = new Map(rows.peek());
    for (const row of update.runs ?? []) next.set(row.id, row);
    for (const id of update.removed ?? []) next.delete(id);
    rows.value = next;
  }
  if (update.jobs) jobs.value = update.jobs;
  if (update.sweeps) sweeps.value = update.sweeps;
  if (update.runs || update.removed || update.sweeps) recordList();
  wanted?.onUpdate(update);
}

/** The list as it is now, for a page that is saved. */
function recordList(): void {
  const list: RunList = {
    runs: [...rows.peek().values()],
    jobs: jobs.peek(),
    sweeps: sweeps.peek() ?? [],
    loading: false,
    truncated: truncated.peek(),
  };
  record("GET /api/runs", list);
}
