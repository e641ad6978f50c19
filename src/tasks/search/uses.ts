/** Runs of search and retrain in use: measured with memory, continued out of it, exported. */
import { reject } from "../../base/errors.ts";
import { once } from "../../base/lazily.ts";
import type { Evaluation } from "../../depth/searched.ts";
import type { Engine } from "../../engine/engine.ts";
import { openWriter, type Writer } from "../../model/generation.ts";
import { generateMany, type ManyTextsOptions, type PieceOf } from "../../model/many.ts";
import type { ParModel } from "../../model/par/par.ts";
import { figures, tokensIn } from "../../train/evaluate.ts";
import { Evaluator } from "../../train/evaluator.ts";
import type { Figures } from "../../train/events.ts";
import type { Session } from "../../train/session.ts";
import { type EvaluateOptions, evaluatedPart } from "../evaluate.ts";
import { type Exporting, exporting } from "../exporting.ts";
import type { ExportHow } from "../exports.ts";
import type { Say, TaskEvent } from "../job.ts";
import { type OpenRun, openRunBase, type ResumeOptions, type StoredRun } from "../open-run.ts";
import { resumeRun } from "../perform.ts";
import { textSizeOf } from "../text-data.ts";
import { generateText, type ParTextOptions, type SegmentChoices } from "./network.ts";
import { checkReach, evaluationShape, type RankedText, rankedText, segmentsOf } from "./parts.ts";
import { type Found, keptResult, type SearchResult } from "./result.ts";
import { evaluateOn } from "./stage.ts";
import { reopenSearch, type StoredModel, storedModel } from "./stored.ts";

/** Figures of a split, and how they were taken. */
export interface SegmentFigures extends Figures {
  /** The original's figure: the mean of exp(batch loss). */
  readonly meanBatchPerplexity: number;
  readonly evaluationMemory: number;
  readonly mixture: Evaluation;
  readonly pattern: string;
}

/** What runs of search and retrain can do. Texts are opened when they are first needed. */
export interface ParUses extends StoredModel, Exporting {
  /** What was found (architecture.json); undefined while the run has not ended. */
  readonly found: Found | undefined;
  /** Loss, perplexities and bits per byte of a split, with any memory. */
  evaluate(how?: EvaluateOptions & SegmentChoices): Promise<SegmentFigures>;
  /** Continues a text; yields what is new in it. */
  generate(options: Omit<ParTextOptions, "engine">): AsyncGenerator<string>;
  /** Continues many texts at once, several samples of each; yields what is new in each as it comes. */
  generateMany(options: ManyTextsOptions & SegmentChoices): AsyncGenerator<PieceOf>;
  /** Opens the model to continue texts piece by piece, each with its probability, out of as many steps of memory. */
  writer(how?: SegmentChoices): Promise<Writer & { readonly memory: number }>;
}

/** A run of search, opened at a checkpoint. */
export interface SearchRun extends OpenRun<"search", SearchResult>, ParUses {}

/** Opens a run of search to use it. */
export async function open(stored: StoredRun): Promise<SearchRun> {
  return { ...openRunBase("search", stored, resume), ...(await parUses(stored)) };
}

/** Goes on with a run of search. */
export function resume(path: string, options: ResumeOptions = {}): Session<TaskEvent, SearchResult> {
  return resumeRun(path, options, (run, resume, given) => reopenSearch(run, resume, given));
}

/** What a stored run of search or retrain can do. */
export async function parUses(stored: StoredRun): Promise<ParUses> {
  const { path, step, options, engine } = stored;
  const opened = await storedModel(stored);
  const ranked = once(() => rankedText(opened.settings, { ...options, tokenizer: opened.tokenizer }));
  return {
    ...opened,
    found: await keptResult(path),
    evaluate: async (how = {}) => evaluate(await engine(), opened, await ranked(), how, options.say),
    generate: async function* (how) {
      const { ranks } = await ranked();
      const { memory: evaluationMemory } = settled(opened, how);
      yield* generateText({ ...opened, ranks }, { ...how, evaluationMemory, engine: await engine() });
    },
    generateMany: async function* ({ evaluationMemory, mixture, ...how }) {
      const { ranks } = await ranked();
      const { memory } = settled(opened, { evaluationMemory });
      const given = { engine: await engine(), tokenizer: opened.tokenizer.tokenizer };
      yield* generateMany({ ...opened, ranks }, { ...how, ...given, reading: { memory, evaluation: mixture } });
    },
    writer: async (how = {}) => {
      const { ranks } = await ranked();
      const { memory } = settled(opened, how);
      const reading = { memory, evaluation: how.mixture };
      const given = { engine: await engine(), tokenizer: opened.tokenizer.tokenizer, reading };
      const writer = await openWriter({ ...opened, ranks }, given);
      return { memory, write: (options) => writer.write(options), release: () => writer.release() };
    },
    ...exporting({
      onnx: async (how) => exported(opened, (await ranked()).ranks, { step, ...how }),
      huggingface: async () => forTorch(opened, (await decided(opened, path, ranked)).ranks, step),
    }),
  };
}

/** Memory and mixture as asked for, or as the run evaluates. */
function settled({ settings, model }: StoredModel, { evaluationMemory, mixture }: SegmentChoices) {
  return {
    memory: evaluationMemory ?? settings.evaluationMemory ?? model.options.memory,
    evaluation: mixture ?? ("mean" as const),
  };
}

async function evaluate(
  engine: Engine,
  opened: StoredModel,
  text: RankedText,
  { split = "valid", evaluateTokens, onBatch, signal, ...choices }: EvaluateOptions & SegmentChoices,
  say: Say = () => {},
): Promise<SegmentFigures> {
  const { settings, model, weights } = opened;
  const { memory, evaluation } = settled(opened, choices);
  const shape = { ...evaluationShape(settings), memory };
  const size = await textSizeOf(text, split);
  if (choices.evaluationMemory !== undefined) {
    checkReach("evaluation memory", memory, { batch: shape.batch, tokens: size.tokens });
  }
  const all = await segmentsOf(settings, text, model, { split, memory });
  const { batches, remark } = evaluatedPart(all, evaluateTokens ?? settings.evaluateTokens, split);
  if (remark !== undefined) say(`evaluated on ${remark}`);
  const evaluator = await Evaluator.create(engine, model.objective({ ...shape, evaluation, training: false }), weights);
  const measured = evaluateOn(evaluator, weights, batches, { signal, tell: onBatch });
  const { loss, meanBatchPerplexity } = await measured.finally(() => evaluator.release());
  return {
    ...figures(loss, batches.count * tokensIn(batches), size),
    meanBatchPerplexity,
    evaluationMemory: memory,
    mixture: evaluation,
    pattern: model.policy.pattern(weights),
  };
}

const openBlocks = ({ policy }: ParModel) => policy.blocks.filter((candidates) => candidates.length > 1).length;

/** Gives the text of a run whose blocks have no choice left: the Python file knows no mixtures. */
function decided({ model }: StoredModel, path: string, text: () => Promise<RankedText>): Promise<RankedText> {
  const open = openBlocks(model);
  if (open === 0) return text();
  const got = `${open} of ${model.policy.blocks.length} still with a choice`;
  const remedy = `train what was found with \`layerwise retrain ${path}\`, or export the mixture as ONNX`;
  return reject({ who: path, needed: "blocks that are decided", got, remedy }, 2);
}

/** A decided network under the names that one has by itself; else the supernet, whose blocks are mixed by π as in evaluation. */
async function exported(
  { settings, model, weights, tokenizer }: StoredModel,
  ranks: Int32Array,
  notes: ExportHow & { readonly step: number },
) {
  const { exportedPar } = await import("../exports.ts");
  const { foundNetwork } = await import("../../model/par/found.ts");
  const { length, memory } = evaluationShape(settings);
  const network = openBlocks(model) === 0 ? foundNetwork(model, weights) : { model, weights };
  return exportedPar(network.model, network.weights, { length, memory, ranks, tokenizer: tokenizer.bytes, ...notes });
}

/** The same for transformers; an import of it is a run of retrain. */
async function forTorch({ settings, model, weights, tokenizer }: StoredModel, ranks: Int32Array, step: number) {
  const { huggingFacePar } = await import("../huggingface.ts");
  const { foundNetwork, untied } = await import("../../model/par/found.ts");
  const { importedYaml } = await import("./ordinary.ts");
  const network = untied(foundNetwork(model, weights));
  const run = importedYaml({ ...settings, tied: false }, String(network.model.options.blocks));
  const notes = { length: settings.length, ranks, step, tokenizer: tokenizer.bytes, run };
  return huggingFacePar(network.model, network.weights, notes);
}
