import type { SettingsSchema, Values } from "../runs/settings.ts";
import type { Job, Rehearsed, TaskEvent } from "../tasks/job.ts";
import { newRun } from "../tasks/new-run.ts";
import { perform } from "../tasks/perform.ts";
import { Run } from "../tasks/run.ts";
import { settingsNamed } from "../tasks/settings/index.ts";
import type { Given } from "../tasks/text-data.ts";
import type { TrainConfig } from "../tasks/trained-job.ts";
import type { Session } from "../train/session.ts";
import type { CompareOrder, RetrainOrder } from "./order.ts";
import type { TrialReport } from "./processes.ts";

/** Settings over a preset. */
export interface OrderSettings {
  readonly preset?: string | undefined;
  readonly settings: Values;
}

/** A run that is to be begun. */
export type SingleOrder = OrderSettings &
  (
    | { readonly task: "language" | "translate" | "pretrain" }
    /** By the latencies of a file. */
    | { readonly task: "search"; readonly seeds?: undefined; readonly costs?: string | undefined }
    /** On a task of GLUE; `from` is a run folder, absent: new weights. */
    | { readonly task: "finetune"; readonly glueTask: string; readonly from?: string | undefined }
    | RetrainOrder
  );

/** What is to be begun: a run, or several as a sweep. */
export type TaskOrder =
  | SingleOrder
  /** Several seeds: 3, or a list. */
  | (OrderSettings & { readonly task: "search"; readonly seeds: number | readonly number[] })
  | (OrderSettings & CompareOrder);

/** A run that is begun or goes on; it outlives who ordered it. */
export type RunOrder<O = TaskOrder> =
  | { readonly do: "begin"; readonly order: O; readonly into: string }
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
export interface ReadOrder<E = TaskEvent> {
  open(): Promise<Rehearsed>;
  begin(into: string, signal: AbortSignal): Promise<Session<E, unknown>>;
}

type Of<T extends SingleOrder["task"]> = SingleOrder & { readonly task: T };

const readers: { readonly [T in SingleOrder["task"]]: (order: Of<T>, given: Given) => Promise<ReadOrder> } = {
  language: readTraining,
  translate: readTraining,
  pretrain: async (order, given) => {
    const { openPretrain, pretrainJob } = await import("../tasks/pretrain/job.ts");
    const { pretrainSettings } = await import("../tasks/pretrain/settings.ts");
    const settings = resolved(pretrainSettings, order);
    return ofJob(async () => pretrainJob(await openPretrain(settings, given)));
  },
  finetune: async (order, { engine, say }) => {
    const { finetuneJob, openFinetune } = await import("../tasks/finetune/job.ts");
    const { finetuneSettings } = await import("../tasks/finetune/settings.ts");
    const { glueTask } = await import("../text/labelled/glue-tasks.ts");
    const [task, settings] = [glueTask(order.glueTask), resolved(finetuneSettings, order)];
    return ofJob(async () => finetuneJob(await openFinetune(task, settings, { from: order.from, engine, say })));
  },
  search: async ({ costs: file, ...order }, { engine, say, corpus, tokenizer }) => {
    const { openSearchJob, readCosts, search } = await import("../tasks/search/index.ts");
    const { searchSettings } = await import("../tasks/search/settings.ts");
    const costs = file === undefined ? undefined : await readCosts(file);
    const data = corpus ? { data: { corpus, tokenizer } } : {};
    const options = { ...resolved(searchSettings, order), ...data, costs, engine, say };
    return {
      open: () => openSearchJob(options),
      begin: async (into, signal) => search({ ...options, into: await newRun(into), signal }),
    };
  },
  retrain: async ({ source, fromSupernet, baseline, settings }, { engine, say }) => {
    const { openRetrainJob, retrain } = await import("../tasks/search/index.ts");
    const { searchSettings } = await import("../tasks/search/settings.ts");
    const options = { ...searchSettings.check(settings, "settings"), fromSupernet, baseline, engine, say };
    return {
      open: () => openRetrainJob(source, options),
      begin: async (into, signal) => retrain(source, { ...options, into: await newRun(into), signal }),
    };
  },
};

/** Reads the order of a run; mistakes in its settings show here. */
export function readSingle(order: SingleOrder, given: Given): Promise<ReadOrder> {
  return (readers[order.task] as (order: SingleOrder, given: Given) => Promise<ReadOrder>)(order, given);
}

/** A session that begins a run, or goes on with one. */
export async function carryOut(order: RunOrder<SingleOrder>, signal: AbortSignal, given: Given) {
  if (order.do === "resume") return Run.resume(order.path, { ...given, signal });
  return (await readSingle(order.order, given)).begin(order.into, signal);
}

/** Settings over a preset, with all defaults. */
export function resolved<S extends object, R extends object>(schema: SettingsSchema<S, R>, order: OrderSettings): R {
  const { preset, settings } = order;
  const layers = preset === undefined ? [] : [schema.preset(preset)];
  return schema.resolve([...layers, { source: "settings", values: settings as Partial<S> }]);
}

/** Settings of a training with all defaults. */
export async function trainSettings(order: OrderSettings & { task: string }): Promise<TrainConfig> {
  return { ...resolved(await settingsNamed(order.task), order), task: order.task } as unknown as TrainConfig;
}

async function readTraining(order: Of<"language" | "translate">, given: Given): Promise<ReadOrder> {
  const { openJob } = await import("../tasks/jobs.ts");
  const settings = await trainSettings(order);
  return ofJob(() => openJob(settings, given));
}

function ofJob(open: () => Promise<Job>): ReadOrder {
  return { open, begin: async (into, signal) => perform(await open(), { into: await newRun(into), signal }) };
}
