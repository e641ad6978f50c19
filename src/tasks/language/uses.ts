/** Runs of language models: evaluated, continued, exported, resumed. */
import type { WordAnalysis } from "../../analysis/word-depths.ts";
import type { DraftedOptions, Writer } from "../../model/generation.ts";
import type { LanguageModel } from "../../model/language/language.ts";
import type { ManyTextsOptions, PieceOf } from "../../model/many.ts";
import { loadStateDict } from "../../model/state-dict.ts";
import { storedSettings } from "../../runs/settings-file.ts";
import { type Corpus, linesOf, type Split } from "../../text/corpus.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { Figures } from "../../train/events.ts";
import type { Session } from "../../train/session.ts";
import type { Weights } from "../../train/stages.ts";
import { type EvaluateOptions, evaluatedPart, evaluateText, evaluationBatches } from "../evaluate.ts";
import { type Exporting, exporting } from "../exporting.ts";
import type { TaskEvent } from "../job.ts";
import { type OpenRun, openRunBase, type ResumeOptions, type StoredRun } from "../open-run.ts";
import { resumeRun } from "../perform.ts";
import type { DepthOptions, DepthsOf } from "../pretrain/depths.ts";
import { batchesOf, openData, textSizeOf } from "../text-data.ts";
import type { TrainedModel } from "../trained-job.ts";
import { inUse, languageJob, modelOf, openLanguage } from "./job.ts";
import { type LanguageConfig, languageSettings } from "./settings.ts";

/** A language model's run, opened at a checkpoint. */
export interface LanguageRun extends OpenRun<"language", TrainedModel<LanguageModel>>, Exporting {
  readonly settings: LanguageConfig;
  readonly model: LanguageModel;
  readonly weights: Weights;
  readonly tokenizer: OpenTokenizer;
  /** Loss, perplexity per piece and per word, bits per byte of a split. */
  evaluate(how?: EvaluateOptions): Promise<Figures>;
  /** Continues a text; yields what is new in it. */
  generate(options: DraftedOptions): AsyncGenerator<string>;
  /** Continues many texts at once, several samples of each; yields what is new in each as it comes. */
  generateMany(options: ManyTextsOptions): AsyncGenerator<PieceOf>;
  /** Opens the model to continue texts piece by piece, each with its probability and depth. */
  writer(): Promise<Writer>;
  /** Depths of a split's tokens by kind of word and by surprise. */
  depthsByWord(how?: WordDepthOptions): Promise<WordAnalysis>;
  /** How many blocks each token of a text passed through, and how uncertain the model was of the next. */
  depths<T extends string | readonly string[]>(text: T, options?: DepthOptions): Promise<DepthsOf<T>>;
}

/** Which texts are read, and how. */
export interface WordDepthOptions extends DepthOptions {
  /** Default: valid. */
  readonly split?: Split | undefined;
  /** Most lines to read. Default: 512. */
  readonly texts?: number | undefined;
}

/** The first lines of a split that have words. */
function longLines(corpus: Corpus, split: Split, most: number): string[] {
  const found: string[] = [];
  for (const line of linesOf(corpus, split)) {
    if (/\p{L}/u.test(line)) found.push(line);
    if (found.length === most) break;
  }
  return found;
}

const settingsIn = (config: string, path: string) => storedSettings(languageSettings, config, `${path}/config.yaml`);

/** Opens a run to use it; its text is opened when it is first evaluated. */
export async function open(stored: StoredRun): Promise<LanguageRun> {
  const { path, config, state, step, options, engine } = stored;
  const settings = settingsIn(config, path);
  const tokenizer = stored.tokenizer ?? (await openData(settings, options)).tokenizer;
  const model = modelOf(options.use ? inUse(settings, options.use) : settings, tokenizer.tokenizer.size);
  const weights = loadStateDict(model.parameters, state.weights, `${path}, step ${step}`);
  return {
    ...openRunBase("language", stored, resume),
    settings,
    model,
    weights,
    tokenizer,
    evaluate: async ({ split = "valid", evaluateTokens = settings.evaluateTokens, onBatch, signal } = {}) => {
      const data = await openData(settings, { ...options, tokenizer });
      const { batches, remark } = evaluatedPart(await batchesOf(settings, data, split), evaluateTokens, split);
      if (remark !== undefined) options.say?.(`evaluated on ${remark}`);
      return evaluateText(await engine(), model, weights, {
        batches: evaluationBatches(batches, settings.evaluationBatch),
        text: await textSizeOf(data, split),
        onBatch,
        signal,
      });
    },
    generate: async function* (options) {
      const { generate } = await import("../../model/generation.ts");
      yield* generate({ model, weights }, { ...options, engine: await engine(), tokenizer: tokenizer.tokenizer });
    },
    generateMany: async function* (options) {
      const { generateMany } = await import("../../model/many.ts");
      yield* generateMany({ model, weights }, { ...options, engine: await engine(), tokenizer: tokenizer.tokenizer });
    },
    writer: async () => {
      const { openWriter } = await import("../../model/generation.ts");
      return openWriter({ model, weights }, { engine: await engine(), tokenizer: tokenizer.tokenizer });
    },
    depths: async (text, how = {}) => {
      const { depthsOf } = await import("../depths.ts");
      return depthsOf({ model, weights, tokenizer }, text, { ...how, engine: how.engine ?? (await engine()) });
    },
    depthsByWord: async ({ split = "valid", texts = 512, ...how } = {}) => {
      const { depthsOf } = await import("../depths.ts");
      const { depthByWord } = await import("../../analysis/word-depths.ts");
      const { corpus } = await openData(settings, { ...options, tokenizer });
      const lines = longLines(corpus, split, texts);
      const given = { ...how, engine: how.engine ?? (await engine()) };
      return depthByWord(await depthsOf({ model, weights, tokenizer }, lines, given), model.policy.depth);
    },
    ...exporting({
      onnx: async (how) => {
        const { exportedLanguage } = await import("../exports.ts");
        return exportedLanguage(model, weights, { step, tokenizer: tokenizer.bytes, ...how });
      },
      huggingface: async () => {
        const { huggingFaceLanguage } = await import("../huggingface.ts");
        const run = languageSettings.yaml({ ...settings, init: null, initStep: null });
        return huggingFaceLanguage(model, weights, { step, tokenizer: tokenizer.bytes, run });
      },
    }),
  };
}

/** Goes on with a run of a language model. */
export function resume(path: string, options: ResumeOptions = {}): Session<TaskEvent, TrainedModel<LanguageModel>> {
  return resumeRun(path, options, async (run, resume, given) => {
    const settings = settingsIn(run.config, path);
    return languageJob(await openLanguage(resume ? { ...settings, init: null } : settings, given), given);
  });
}
