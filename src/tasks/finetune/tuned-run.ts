/** What runs of every head have in common when they are opened and when they go on. */
import { type AlbertDescription, type DescribedAlbert, describedAlbert } from "../../model/albert/description.ts";
import { adapterParts } from "../../model/albert/lora.ts";
import { loadAlbert } from "../../model/albert/weights.ts";
import { initialise } from "../../nn/index.ts";
import { eventsUpTo } from "../../runs/event-log.ts";
import type { RunFolder } from "../../runs/folder.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { Weights } from "../../train/stages.ts";
import { bestIn } from "../concluded.ts";
import { needTokenizer, parseAlbertRun, readBase } from "../pretrain/albert-run.ts";
import type { FinetuneModel } from "./model.ts";
import { finetuneSettings, type GlueSettings } from "./settings.ts";
import { type Before, trainedOf } from "./tuned-job.ts";

/** What a run was tuned with, out of its config. */
export interface StoredTuning {
  readonly settings: GlueSettings;
  readonly origin: FinetuneModel["origin"];
  readonly description: AlbertDescription;
  /** What its head keeps besides, by the names that were asked for. */
  readonly own: Readonly<Record<string, unknown>>;
}

/** What runs did that do not say it, since they are older than the setting. */
const BEFORE = { exitDepths: "full" } as const;

/** Reads a run's config; `names` are those of what its head keeps besides origin and settings. */
export function storedTuning(yaml: string, path: string, names: readonly string[]): StoredTuning {
  const source = `${path}/config.yaml`;
  const { model, heads, training = {} } = parseAlbertRun(yaml, source);
  const { command: _, from = null, fromStep = null, ...others } = training;
  const split = (isOwn: boolean) =>
    Object.fromEntries(Object.entries(others).filter(([name]) => names.includes(name) === isOwn));
  return {
    settings: { ...finetuneSettings.defaults, ...BEFORE, ...finetuneSettings.check(split(false), source) },
    origin: { from: from as string | null, fromStep: fromStep as number | null },
    description: { model, heads },
    own: split(true),
  };
}

/** The ALBERT that a run began with, for one that has no checkpoint yet. */
export const startOf = ({ origin: { from, fromStep } }: StoredTuning) => ({
  from: from ?? undefined,
  fromStep: fromStep ?? undefined,
});

/** What rests below the adapters of a run. */
export async function restingWeights(path: string, described: DescribedAlbert): Promise<Weights> {
  return loadAlbert(adapterParts(described).frozen, await readBase(path), path).weights;
}

/** The model of a run that goes on: a checkpoint gives its weights, but for what rests below adapters. */
export async function reopenedModel(
  path: string,
  { settings, origin, description }: StoredTuning,
  tokenizer: OpenTokenizer | undefined,
): Promise<FinetuneModel> {
  const described = describedAlbert(description);
  const first = initialise(described.parameters, settings.seed);
  const weights = description.model.lora ? new Map([...first, ...(await restingWeights(path, described))]) : first;
  return { description, described, weights, origin, tokenizer: needTokenizer({ tokenizer }) };
}

/** What earlier sessions of a run measured up to a step, and the best of it. */
export async function beforeIn(run: RunFolder, step: number, described: DescribedAlbert): Promise<Before> {
  const earlier = eventsUpTo(await run.events(), step);
  const evaluations = earlier.filter((event) => event.type === "evaluation");
  return { evaluations, best: () => bestIn(run, trainedOf(described)) };
}
