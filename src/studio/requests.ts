/** What requests may hold: bodies and queries, every name and value checked; what is not known is refused. */
import type { Context } from "hono";
import * as z from "zod/mini";
import type {
  Axis,
  ClassifyRequest,
  DepthRequest,
  DepthTableRequest,
  FillRequest,
  GenerateRequest,
  Note,
  StartRequest,
  TranslateRequest,
} from "./api.ts";
import type { Wanted } from "./feed.ts";
import { Refusal } from "./refusal.ts";

const text = (most: number) => z.string().check(z.maxLength(most));
const whole = (least: number, most: number) => z.int().check(z.gte(least), z.lte(most));
const number = (least: number, most: number) => z.number().check(z.gte(least), z.lte(most));
const id = z.string().check(z.regex(/^[0-9a-f]{12}$/));
const line = text(20_000);

const generate: z.ZodMiniType<GenerateRequest> = z.strictObject({
  prompt: line,
  tokens: z.optional(whole(1, 10_000)),
  temperature: z.optional(number(0, 100)),
  topK: z.optional(whole(1, 1_000_000)),
  topP: z.optional(number(0, 1)),
  seed: z.optional(whole(0, Number.MAX_SAFE_INTEGER)),
  stop: z.optional(text(1000)),
  keepMemory: z.optional(z.boolean()),
});

const depth: z.ZodMiniType<DepthRequest> = z.strictObject({ text: line });
const depthTable: z.ZodMiniType<DepthTableRequest> = z.strictObject({
  texts: z.optional(whole(1, 512)),
  conllu: z.optional(text(4_000_000)),
});
const translate: z.ZodMiniType<TranslateRequest> = z.strictObject({
  lines: z.array(text(5000)).check(z.maxLength(100)),
  beam: z.optional(whole(1, 32)),
  lengthPenalty: z.optional(number(0, 10)),
});
const fill: z.ZodMiniType<FillRequest> = z.strictObject({ text: line, top: z.optional(whole(1, 100)) });
const classify: z.ZodMiniType<ClassifyRequest> = z.strictObject({ text: line, second: z.optional(line) });
const note: z.ZodMiniType<Note> = z.strictObject({ note: text(10_000) });

const common = {
  /** A name, never a path: no separators, and not hidden. */
  name: z.optional(z.string().check(z.regex(/^[A-Za-z0-9][\w.-]{0,99}$/))),
  preset: z.optional(text(100)),
  settings: z.optional(z.record(z.string(), z.unknown())),
};
const start: z.ZodMiniType<StartRequest> = z.discriminatedUnion("task", [
  z.strictObject({ ...common, task: z.enum(["language", "translate", "pretrain"]) }),
  z.strictObject({ ...common, task: z.literal("search"), seeds: z.optional(text(200)) }),
  z.strictObject({ ...common, task: z.literal("finetune"), glueTask: text(100), from: z.optional(id) }),
  z.strictObject({
    ...common,
    task: z.literal("retrain"),
    of: z.optional(id),
    pattern: z.optional(text(1000)),
    fromSupernet: z.optional(z.boolean()),
    baseline: z.optional(z.boolean()),
  }),
  z.strictObject({
    ...common,
    task: z.literal("compare"),
    of: z.enum(["language", "translate"]),
    seeds: whole(1, 100),
    only: z.optional(z.array(text(100)).check(z.maxLength(100))),
  }),
]);

/** The bodies that requests may have. */
export const bodies = { generate, depth, depthTable, translate, fill, classify, note, start };

/** The body of a request, checked. */
export async function bodyOf<T>(context: Context, type: z.ZodMiniType<T>): Promise<T> {
  let value: unknown;
  try {
    value = await context.req.json();
  } catch {
    throw new Refusal(400, "bad-option", "expected a body of JSON");
  }
  const found = type.safeParse(value);
  if (found.success) return found.data;
  const { path, message } = found.error.issues[0]!;
  throw new Refusal(400, "bad-option", `${path.join(" / ") || "body"}: ${message}`);
}

/** What a query asks of a series. */
export interface SeriesQuery {
  readonly metrics: readonly string[] | undefined;
  readonly x: Axis;
  readonly points: number;
  readonly from: number | undefined;
  readonly to: number | undefined;
}

const MOST_POINTS = 4000;
const MOST_RUNS = 16;

/** A number of a query; undefined where it is absent. */
function numberIn(context: Context, name: string): number | undefined {
  const given = context.req.query(name);
  if (given === undefined || given === "") return undefined;
  const value = Number(given);
  if (Number.isFinite(value)) return value;
  throw new Refusal(400, "bad-option", `${name}: expected a number, got ${JSON.stringify(given)}`);
}

function axisIn(context: Context): Axis {
  const x = context.req.query("x") ?? "step";
  if (x === "step" || x === "minutes" || x === "tokens") return x;
  throw new Refusal(400, "bad-option", `x: expected step, minutes or tokens, got ${JSON.stringify(x)}`);
}

function metricsIn(context: Context): string[] | undefined {
  const names = context.req.query("metrics")?.split(",").filter(Boolean);
  return names && names.length > 0 ? names.slice(0, 200) : undefined;
}

/** The query of a series. */
export function seriesQuery(context: Context): SeriesQuery {
  const points = numberIn(context, "points") ?? 800;
  return {
    metrics: metricsIn(context),
    x: axisIn(context),
    points: Math.max(2, Math.min(MOST_POINTS, Math.floor(points))),
    from: numberIn(context, "from"),
    to: numberIn(context, "to"),
  };
}

/** The query of a stream of updates. */
export function wantedIn(context: Context): Wanted {
  const asked = (context.req.queries("run") ?? []).slice(0, MOST_RUNS);
  const runs = asked.map((each) => each.split("@") as [string, string | undefined]);
  const on = (name: string) => context.req.query(name) === "1";
  return {
    rows: on("runs"),
    runs: new Map(runs.map(([run, cursor]) => [run, cursor])),
    metrics: metricsIn(context),
    axis: axisIn(context),
    frames: on("frames"),
    log: on("log"),
  };
}
