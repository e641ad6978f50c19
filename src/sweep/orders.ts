import type { SettingsSchema, Values } from "../runs/settings.ts";
import type { Job, Rehearsed, Say, TaskEvent } from "../tasks/job.ts";
import { newRun } from "../tasks/new-run.ts";
import { perform } from "../tasks/perform.ts";
import { Run } from "../tasks/run.ts";
import { settingsNamed } from "../tasks/settings/index.ts";
import type { TrainConfig } from "../tasks/trained-job.ts";
import type { Session } from "../train/session.ts";
import { compare, contestantsNamed } from "./comparison.ts";
import type { CompareOrder, RetrainOrder } from "./order.ts";
import type { TrialReport } from "./processes.ts";

/** Settings over a preset. */
export interface OrderSettings {
  readonly preset?: string | undefined;
  readonly settings: Values;
}

/** What is to be begun. */
export type TaskOrder = OrderSettings &
  (
    | { readonly task: "language" | "translate" | "pretrain" }
    /** Several seeds: 3, or a list. */
    | { readonly task: "search"; readonly seeds?: number | readonly number[] | undefined }
    /** On a task of GLUE; `from` is a run folder, absent: new weights. */
    | { readonly task: "finetune"; readonly glueTask: string; readonly from?: string | undefined }
    | RetrainOrder
    | CompareOrder
  );

/** A run that is begun or goes on; it outlives who ordered it. */
export type RunOrder =
  | { readonly do: "begin"; readonly order: TaskOrder; readonly into: string }
  | { readonly do: "resume"; readonly path: string };

/** A trial of a sweep; it reports on the way, and stops with who ordered it. */
export interface TrialOrder {
  readonly do: "trial";
  /** The sweep's folder. */
  readonly sweep: string;
  readonly index: number;
  /** For trials whose settings leave them open. */
  readonly threads?: number | undefined;
}

/** What the process of a trial says: how far it is, or that a checkpoint is there. */
export type TrialMessage = { readonly report: TrialReport } | { readonly saved: number };

/** What a process is told. */
export type Order = RunOrder | { readonly do: "try"; readonly order: TaskOrder } | TrialOrder;

/** An order whose settings are checked: it may be opened to be tried, or begun. */
export interface ReadOrder {
  open(): Promise<Rehearsed>;
  begin(into: string, signal: AbortSignal): Promise<Session<TaskEvent, unknown>>;
}

type Of<T extends TaskOrder["task"]> = TaskOrder & { readonly task: T };

const readers: { readonly [T in TaskOrder["task"]]: (order: Of<T>, say: Say) => Promise<ReadOrder> } = {
  language: readTraining,
  translate: readTraining,
  pretrain: async (order, say) => {
    const { openPretrain, pretrainJob } = await import("../tasks/pretrain/job.ts");
    const { pretrainSettings } = await import("../tasks/pretrain/settings.ts");
    const settings = resolved(pretrainSettings, order);
    return ofJob(async () => pretrainJob(await openPretrain(settings, { say })));
  },
  finetune: async (order, say) => {
    const { finetuneJob, openFinetune } = await import("../tasks/finetune/job.ts");
    const { finetuneSettings } = await import("../tasks/finetune/settings.ts");
    const { glueTask } = await import("../text/labelled/glue-tasks.ts");
    const [task, settings] = [glueTask(order.glueTask), resolved(finetuneSettings, order)];
    return ofJob(async () => finetuneJob(await openFinetune(task, settings, { from: order.from, say })));
  },
  search: async ({ seeds, ...order }, say) => {
    const { openSearchJob, search } = await import("../tasks/search/index.ts");
    const { searchSettings } = await import("../tasks/search/settings.ts");
    const options = { ...resolved(searchSettings, order), ...(seeds === undefined ? {} : { seeds }), say };
    return {
      open: () => openSearchJob(options),
      begin: async (into, signal) => search({ ...options, into: await newRun(into), signal }),
    };
  },
  retrain: async ({ source, fromSupernet, baseline, settings }, say) => {
    const { openRetrainJob, retrain } = await import("../tasks/search/index.ts");
    const { searchSettings } = await import("../tasks/search/settings.ts");
    const options = { ...searchSettings.check(settings, "settings"), fromSupernet, baseline, say };
    return {
      open: () => openRetrainJob(source, options),
      begin: async (into, signal) => retrain(source, { ...options, into: await newRun(into), signal }),
    };
  },
  compare: async ({ of, seeds, only, preset, settings: own }, say) => {
    const settings = await trainSettings({ task: of, preset, settings: { keep: 1, ...own } });
    const rows = contestantsNamed(only);
    return {
      open: (await readTraining({ task: of, preset, settings: own }, say)).open,
      begin: async (folder, signal) => compare({ settings, rows, seeds, folder, signal }),
    };
  },
};

/** Reads an order; mistakes in its settings show here. */
export function readOrder(order: TaskOrder, say: Say): Promise<ReadOrder> {
  return (readers[order.task] as (order: TaskOrder, say: Say) => Promise<ReadOrder>)(order, say);
}

/** A session that carries an order out. */
export async function carryOut(order: RunOrder, signal: AbortSignal, say: Say) {
  if (order.do === "resume") return Run.resume(order.path, { signal, say });
  return (await readOrder(order.order, say)).begin(order.into, signal);
}

function resolved<S extends object, R extends object>(schema: SettingsSchema<S, R>, order: OrderSettings): R {
  const { preset, settings } = order;
  const layers = preset === undefined ? [] : [schema.preset(preset)];
  return schema.resolve([...layers, { source: "settings", values: settings as Partial<S> }]);
}

async function trainSettings(order: OrderSettings & { task: string }): Promise<TrainConfig> {
  return { ...resolved(await settingsNamed(order.task), order), task: order.task } as unknown as TrainConfig;
}

async function readTraining(order: Of<"language" | "translate">, say: Say): Promise<ReadOrder> {
  const { openJob } = await import("../tasks/jobs.ts");
  const settings = await trainSettings(order);
  return ofJob(() => openJob(settings, { say }));
}

function ofJob(open: () => Promise<Job>): ReadOrder {
  return { open, begin: async (into, signal) => perform(await open(), { into: await newRun(into), signal }) };
}
