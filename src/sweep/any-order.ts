/** Orders of any kind: a run, or the sweep that a comparison or a search from several seeds is. */
import type { Say, TaskEvent } from "../tasks/job.ts";
import type { Session } from "../train/session.ts";
import { compare, contestantsNamed } from "./comparison.ts";
import type { SweepEvent } from "./launcher.ts";
import {
  carryOut,
  type ReadOrder,
  type RunOrder,
  readSingle,
  resolved,
  type TaskOrder,
  trainSettings,
} from "./orders.ts";
import { isSweepFolder, openSeedsJob, resumeSweep, searchSeeds } from "./seeds.ts";

type AnyEvent = TaskEvent | SweepEvent;
type Of<T extends TaskOrder["task"]> = TaskOrder & { readonly task: T };

/** Reads an order; mistakes in its settings show here. */
export async function readOrder(order: TaskOrder, say: Say): Promise<ReadOrder<AnyEvent>> {
  if (order.task === "compare") return readComparison(order, say);
  return order.task === "search" && order.seeds !== undefined
    ? readSeeds(order, order.seeds, say)
    : readSingle(order, { say });
}

async function readComparison(order: Of<"compare">, say: Say): Promise<ReadOrder<AnyEvent>> {
  const { of, seeds, only, preset, settings: own } = order;
  const settings = await trainSettings({ task: of, preset, settings: { keep: 1, ...own } });
  const rows = contestantsNamed(only);
  return {
    open: (await readSingle({ task: of, preset, settings: own }, { say })).open,
    begin: async (folder, signal) => compare({ settings, rows, seeds, folder, signal }),
  };
}

async function readSeeds(
  order: Of<"search">,
  seeds: number | readonly number[],
  say: Say,
): Promise<ReadOrder<AnyEvent>> {
  const { searchSettings } = await import("../tasks/search/settings.ts");
  const options = { ...resolved(searchSettings, order), seeds, say };
  return {
    open: () => openSeedsJob(options),
    begin: async (into, signal) => searchSeeds({ ...options, into, signal }),
  };
}

/** A session that carries any order out. */
export async function carryOutAny(order: RunOrder, signal: AbortSignal, say: Say): Promise<Session<AnyEvent, unknown>> {
  if (order.do === "begin") return (await readOrder(order.order, say)).begin(order.into, signal);
  return isSweepFolder(order.path) ? resumeSweep(order.path, { signal, say }) : carryOut(order, signal, { say });
}
