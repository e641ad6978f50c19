/** A phase of pre-training, compiled: its step over batches in the form the loop takes. */
import type { MeasuredCosts } from "../../analysis/latency.ts";
import { ponderScale } from "../../depth/halting.ts";
import type { Engine } from "../../engine/engine.ts";
import type { AlbertDescription, DescribedAlbert } from "../../model/albert/description.ts";
import { documentWords } from "../../model/albert/document-words.ts";
import { albertObjective } from "../../model/albert/heads.ts";
import { initialise } from "../../nn/index.ts";
import { documentFeeds, type MaskedBatches, pretrainingFeeds } from "../../text/masked/batches.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { Batches } from "../../train/evaluate.ts";
import type { OwnGroup } from "../../train/groups.ts";
import type { Length } from "../../train/loop.ts";
import type { Stage, Weights } from "../../train/stages.ts";
import { openStage } from "../../train/train.ts";
import type { Outcome } from "../concluded.ts";
import type { TrainedAlbert } from "./albert-run.ts";
import { headsOf } from "./evaluation.ts";
import type { EncoderFound } from "./found.ts";
import { type MaskedData, pretrainingGroups } from "./parts.ts";
import type { Phase } from "./phases.ts";
import type { PretrainingConfig } from "./settings.ts";

/** A pre-training, opened with its texts. */
export interface PretrainParts {
  /** What candidates cost, where they are searched under a budget. */
  readonly costs: MeasuredCosts | null;
  readonly settings: PretrainingConfig;
  readonly data: MaskedData;
  readonly description: AlbertDescription;
  readonly described: DescribedAlbert;
  readonly engine: Engine;
}

/** What pre-training ends with: a model and its weights, to be fine-tuned, looked into or stored. */
export interface PretrainResult extends TrainedAlbert, Outcome {
  readonly tokenizer: OpenTokenizer;
  /** What a search of blocks found (architecture.json); the model is that network, with the weights it has in the supernet. */
  readonly found?: EncoderFound | undefined;
}

/** What a phase trains on, and how. */
export interface StageParts extends Pick<Parameters<typeof openStage>[1], "evaluate"> {
  readonly length: Length;
  readonly batches: Batches;
  readonly initial?: Weights | undefined;
  /** Whether the halting unit learns at a step. */
  readonly unitLearns: (step: number) => boolean;
  /** How π is moved, where blocks are searched. */
  readonly architecture?: OwnGroup | undefined;
}

/** The compiled step of a phase. */
export async function phaseStage(parts: PretrainParts, phase: Phase, of: StageParts): Promise<Stage> {
  const { settings, described, engine } = parts;
  const { model, heads, parameters } = described;
  const { length, predictions, task, accumulate } = phase;
  const shape = { length, predictions, causal: task === "next", training: true };
  const objective = ({ batch }: { batch: number }) =>
    task === "document"
      ? documentWords(model, batch)
      : albertObjective(model, headsOf(phase, heads), { ...shape, batch });
  return openStage(
    { parameters, objective },
    {
      ...of.length,
      engine,
      data: { train: of.batches },
      groups: pretrainingGroups(settings, parameters, engine, { ...of, task }),
      initial: of.initial ?? initialise(parameters, settings.seed),
      seed: settings.seed,
      accumulate,
      recompute: settings.recompute,
      clipNorm: settings.clipNorm,
      evaluate: of.evaluate,
      ...(task !== "document" && model.options.halting && model.policy.scalars?.ponderScale
        ? { scalars: (updates) => scaled(settings, updates) }
        : {}),
    },
  );
}

/** Batches in the form the loop takes; `from` is the place of a phase's first batch among those of all phases. */
export function fed(
  phase: Phase,
  { sentenceOrder }: PretrainingConfig,
  batches: MaskedBatches,
  from: () => number,
): Batches {
  const { count, rows, tokens, at } = batches;
  const feeds = (place: number) => {
    const batch = at(place - from());
    if (phase.task === "document") return documentFeeds(batch);
    const { order, ...others } = pretrainingFeeds(batch);
    return sentenceOrder && phase.task === "masked" ? { ...others, order: order! } : others;
  };
  return { count, rows, tokens, fresh: true, at: feeds };
}

/** How much of the penalty counts at an update. */
function scaled({ ponderFrom, ponderWarmup }: PretrainingConfig, total: number) {
  const scale = ponderScale(ponderWarmup * total, ponderFrom * total);
  return (step: number) => ({ ponderScale: scale(step) });
}
