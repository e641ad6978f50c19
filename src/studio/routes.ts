/** The paths under `/api`: each asks the studio, and answers in the shapes of api.ts. */
import { statSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Context, Hono } from "hono";
import { stream, streamSSE } from "hono/streaming";
import type { ZodMiniType } from "zod/mini";
import { parsePattern, publishedPatterns } from "../depth/index.ts";
import { writeAtomically } from "../files/index.ts";
import { differences, LOG_FILE } from "../runs/index.ts";
import { contestants, tryOrder } from "../sweep/index.ts";
import { packageVersion, processor, settingsNamed, taskNames, usualThreads } from "../tasks/index.ts";
import { glueTasks } from "../text/labelled/glue-tasks.ts";
import type {
  About,
  CompareAnswer,
  DryRun,
  GenerateLine,
  GenerateRequest,
  Note,
  RunDetail,
  RunList,
  SeriesAnswer,
  Started,
  StartRequest,
  Stopping,
  TaskList,
} from "./api.ts";
import { nextCommands, prepare } from "./commands.ts";
import type { Feed } from "./feed.ts";
import { textFrom } from "./file-text.ts";
import { Refusal, refusalOf } from "./refusal.ts";
import { bodies, bodyOf, seriesQuery, wantedIn } from "./requests.ts";
import { type Entry, NOTE_FILE } from "./run-index.ts";
import { searchData } from "./search-data.ts";
import { comparisonsIn } from "./sharing.ts";
import { stopRun } from "./stopping.ts";
import type { Studio } from "./studio.ts";
import { sweepAnswer, sweepsIn } from "./sweeps.ts";

const LOG_TAIL = 16_000;
/** A first view does not wait longer for runs to be found. */
const FIRST_MS = 600;

/** All of the API; `program` is how the user starts a command. */
export function apiRoutes(studio: Studio, feed: Feed, program: string): Hono {
  const api = new Hono();
  readingRoutes(api, studio, program);
  writingRoutes(api, studio, program);
  usingRoutes(api, studio);
  api.get("/events", (context) => events(context, studio, feed));
  return api;
}

function readingRoutes(api: Hono, studio: Studio, program: string): void {
  const { index } = studio;
  api.get("/about", async (context) => context.json(await about(studio, program)));
  api.get("/runs", async (context) => {
    await studio.look(FIRST_MS);
    const [loading, truncated] = [index.completeMs === undefined, index.truncated];
    const sweeps = sweepsIn(index);
    const list: RunList = { runs: index.rows, jobs: studio.jobs.states(), sweeps, loading, truncated };
    return context.json(list);
  });
  api.get("/runs/:id", async (context) => context.json(await detail(studio, await found(studio, context), program)));
  api.get("/runs/:id/series", async (context) => context.json(series(studio, await found(studio, context), context)));
  api.get("/runs/:id/search", async (context) => {
    const commandOf = async (order: StartRequest) => (await prepare(order, index, program)).command;
    return context.json(
      await searchData(await found(studio, context), index, (entry) => studio.series(entry), commandOf),
    );
  });
  api.get("/compare", async (context) => context.json(await compared(studio, context)));
  api.get("/sharing", async (context) => {
    await studio.look();
    return context.json(comparisonsIn(index.rows));
  });
  api.get("/sweeps/:id", async (context) => {
    await studio.look();
    return context.json(await sweepAnswer(context.req.param("id"), index, program));
  });
  api.get("/tasks", async (context) => context.json(await tasks()));
}

/** A run may be newer than the last look. */
async function found(studio: Studio, context: Context): Promise<Entry> {
  const id = context.req.param("id")!;
  if (!studio.index.has(id)) await studio.look();
  return studio.index.entry(id);
}

async function about(studio: Studio, command: string): Promise<About> {
  return {
    version: packageVersion(),
    folder: studio.index.shown,
    processor: processor(),
    threads: await usualThreads(),
    tasks: taskNames,
    command,
  };
}

async function detail(studio: Studio, entry: Entry, program: string): Promise<RunDetail> {
  const { row, path, glance } = entry;
  const report = studio.index.reportOf(entry.id);
  const { names, evaluations } = studio.series(entry);
  const pattern = evaluations.findLast((each) => each.pattern !== undefined)?.pattern ?? patternIn(row.settings.blocks);
  const config = glance?.config ?? {};
  return {
    ...row,
    config,
    environment: glance?.environment ?? {},
    trainingFlopsPerToken: report?.trainingFlopsPerToken ?? null,
    plan: report?.plan ?? null,
    pattern,
    blocks: pattern === null ? null : kindsOf(pattern),
    checkpoints: (glance?.checkpoints ?? []).map(({ step, best }) => ({ step, best })),
    log: textFrom(join(path, LOG_FILE), undefined, LOG_TAIL).text,
    next: nextCommands({ ...row, config }, studio.index, program),
    pid: row.status === "running" ? (studio.ownerOf(entry)?.pid ?? null) : null,
    metrics: names,
    bytes: await sizeOf(path),
  };
}

const patternIn = (blocks: unknown) => (typeof blocks === "string" ? blocks : null);

/** Blocks of a program's own have letters that only it knows. */
function kindsOf(pattern: string): string[] | null {
  try {
    return parsePattern(pattern);
  } catch {
    return null;
  }
}

async function sizeOf(path: string): Promise<number> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = entries.map((entry) => statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false }));
  return sizes.reduce((sum, stat) => sum + (stat?.isFile() ? stat.size : 0), 0);
}

function series(studio: Studio, entry: Entry, context: Context): SeriesAnswer {
  const { metrics, x, ...window } = seriesQuery(context);
  const all = studio.series(entry);
  const names = metrics ?? all.names;
  return {
    id: entry.id,
    x,
    axes: all.axes,
    metrics: all.names,
    series: Object.fromEntries(names.map((name) => [name, all.of(name, x, window)])),
    cursor: all.cursor,
  };
}

async function compared(studio: Studio, context: Context): Promise<CompareAnswer> {
  const ids = (context.req.query("ids") ?? "").split(",").filter(Boolean).slice(0, 64);
  if (ids.some((id) => !studio.index.has(id))) await studio.look();
  const entries = ids.map((id) => studio.index.run(id));
  const found = differences(entries.map(({ glance }) => glance.config));
  const rows = [...found].map(([key, values]) => [key, values.map((value) => value ?? null)] as const);
  return { runs: entries.map(({ row }) => row), differences: Object.fromEntries(rows) };
}

/** How each task is called on the command line. */
const commandOf: Readonly<Record<string, string>> = { language: "train", translate: "train", finetune: "glue" };

async function tasks(): Promise<TaskList> {
  const all = await Promise.all(taskNames.map(settingsNamed));
  return {
    tasks: all.map((schema) => ({
      task: schema.task,
      command: commandOf[schema.task] ?? schema.task,
      schema: schema.jsonSchema() as Record<string, unknown>,
      defaults: { ...schema.defaults },
      presets: schema.presets as TaskList["tasks"][number]["presets"],
    })),
    contestants: contestants.map(({ name }) => name),
    glueTasks: [...glueTasks.values()].filter(({ files }) => files.train).map(({ name }) => name),
    patterns: publishedPatterns,
  };
}

function writingRoutes(api: Hono, studio: Studio, program: string): void {
  const { index, jobs } = studio;
  api.put("/runs/:id/note", async (context) => {
    const { note } = await bodyOf(context, bodies.note);
    return context.json(await writeNote(studio, await found(studio, context), note));
  });
  api.post("/dry-run", async (context) => {
    const { order, command } = await prepare(await bodyOf(context, bodies.start), index, program);
    const answer: DryRun = { command, facts: await tryOrder(order, context.req.raw.signal) };
    return context.json(answer);
  });
  api.post("/start", async (context) => {
    const { order, path, command } = await prepare(await bodyOf(context, bodies.start), index, program);
    refuseTaken(studio, path, order.task === "compare");
    const what = order.task === "compare" ? ("compare" as const) : ("start" as const);
    const into = join(index.folder, path);
    const started: Started = { job: jobs.start({ do: "begin", order, into }, { what, path, command }) };
    return context.json(started, 202);
  });
  api.post("/runs/:id/resume", async (context) => {
    await studio.look();
    const { row, path } = await found(studio, context);
    if (!row.uses.includes("resume"))
      throw new Refusal(409, "conflict", `${row.path} is ${row.status}: it cannot go on`);
    await jobs.settled(row.path);
    refuseTaken(studio, row.path, true);
    const about = {
      what: "resume" as const,
      path: row.path,
      command: `${program} resume ${join(index.shown, row.path)}`,
    };
    const started: Started = { job: jobs.start({ do: "resume", path }, about) };
    return context.json(started, 202);
  });
  api.post("/runs/:id/stop", async (context) => {
    await studio.look();
    const stopping: Stopping = { stopping: true, pid: stopRun(studio, await found(studio, context)) };
    return context.json(stopping, 202);
  });
}

/** Questions to models. */
function usingRoutes(api: Hono, studio: Studio): void {
  const { models } = studio;
  const asking = <T>(path: string, body: ZodMiniType<T>, answer: (entry: Entry, request: T) => Promise<object>) =>
    api.post(`/runs/:id/${path}`, async (context) => {
      const request = await bodyOf(context, body);
      return context.json(await answer(await found(studio, context), request));
    });
  asking("depth", bodies.depth, (entry, { text }) => models.depths(entry, text));
  asking("depth/table", bodies.depthTable, (entry, request) => models.depthTables(entry, request));
  asking("translate", bodies.translate, (entry, request) => models.translate(entry, request));
  asking("fill", bodies.fill, (entry, request) => models.fill(entry, request));
  asking("classify", bodies.classify, (entry, request) => models.classify(entry, request));
  api.post("/runs/:id/generate", async (context) => {
    const request = await bodyOf(context, bodies.generate);
    return generated(context, studio, await found(studio, context), request);
  });
}

/** A line of JSON for each token; who closes the connection ends it. */
function generated(context: Context, { models }: Studio, entry: Entry, request: GenerateRequest) {
  context.header("content-type", "application/x-ndjson");
  return stream(context, async (answer) => {
    const stop = new AbortController();
    answer.onAbort(() => stop.abort());
    const write = (line: GenerateLine) => answer.write(`${JSON.stringify(line)}\n`);
    try {
      for await (const line of models.generate(entry, request, stop.signal)) await write(line);
    } catch (error) {
      if (!stop.signal.aborted) await write({ type: "error", ...refusalOf(error).body });
    }
  });
}

function refuseTaken({ jobs, index }: Studio, path: string, goesOn: boolean): void {
  const there = statSync(join(index.folder, path), { throwIfNoEntry: false }) !== undefined;
  if (jobs.isTaken(path) || (there && !goesOn))
    throw new Refusal(409, "conflict", `${path} is taken; choose another name`);
}

async function writeNote(studio: Studio, { path, row }: Entry, note: string): Promise<Note> {
  if (row.status === "foreign") throw new Refusal(409, "conflict", `${row.path} is not a run`);
  const file = join(path, NOTE_FILE);
  if (note === "") await rm(file, { force: true });
  else await writeAtomically(file, note);
  await studio.look();
  return { note };
}

async function events(context: Context, studio: Studio, feed: Feed) {
  const wanted = wantedIn(context);
  await studio.look();
  return streamSSE(context, async (answer) => {
    const ended = new Promise<void>((resolve) => answer.onAbort(resolve));
    const stop = feed.listen(wanted, {
      send: (update) => answer.writeSSE({ event: "update", data: JSON.stringify(update) }),
      beat: async () => void (await answer.write(": still here\n\n")),
    });
    await answer.write(": here\n\n");
    await ended.finally(stop);
  });
}
