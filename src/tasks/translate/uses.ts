/** Runs of translation: lines translated, scored with BLEU, evaluated, resumed. */
import { rejectOption } from "../../base/errors.ts";
import { averageCheckpoints } from "../../model/averaging.ts";
import { type BeamOptions, Translator } from "../../model/seq2seq/beam.ts";
import type { TranslationModel } from "../../model/seq2seq/translation.ts";
import { loadStateDict } from "../../model/state-dict.ts";
import { RunFolder } from "../../runs/folder.ts";
import { storedSettings } from "../../runs/settings-file.ts";
import type { Split } from "../../text/corpus.ts";
import { pairsOf } from "../../text/files/pairs.ts";
import { bleu } from "../../text/pairs/bleu.ts";
import type { OpenTokenizer, Tokenizer } from "../../text/tokenizer.ts";
import type { Figures } from "../../train/events.ts";
import type { Session } from "../../train/session.ts";
import type { Weights } from "../../train/stages.ts";
import { type EvaluateOptions, evaluatedPart, evaluateText, type MeanDepths } from "../evaluate.ts";
import type { TaskEvent } from "../job.ts";
import { type OpenRun, openRunBase, type ResumeOptions, type StoredRun } from "../open-run.ts";
import { resumeRun } from "../perform.ts";
import type { TrainedModel } from "../trained-job.ts";
import { batchesOf, inUse, openTranslate, pairsCorpusOf, textSizeOf, translateJob, translationModelOf } from "./job.ts";
import { type TranslateConfig, translateSettings } from "./settings.ts";

/** How lines are translated. */
export interface TranslateOptions extends BeamOptions {
  /** Use the mean of so many of the last checkpoints. */
  readonly average?: number | undefined;
  readonly onLine?: ((done: number) => void) | undefined;
}

/** BLEU of a split. */
export interface TranslationScore {
  readonly split: Split;
  readonly sentences: number;
  readonly bleu: number;
  readonly precisions: readonly number[];
  readonly brevityPenalty: number;
  readonly seconds: number;
}

/** A translation run, opened at a checkpoint. */
export interface TranslateRun extends OpenRun<"translate", TrainedModel<TranslationModel>> {
  readonly settings: TranslateConfig;
  readonly model: TranslationModel;
  readonly weights: Weights;
  readonly tokenizer: OpenTokenizer;
  /** Loss and perplexity of a split's target side, and the mean depth of each side's tokens where they choose it. */
  evaluate(how?: EvaluateOptions): Promise<Figures & MeanDepths>;
  /** Line by line; empty lines stay empty. */
  translate(lines: readonly string[], how?: TranslateOptions): Promise<string[]>;
  score(split: Split, how?: TranslateOptions): Promise<TranslationScore>;
}

const settingsIn = (config: string, path: string) => storedSettings(translateSettings, config, `${path}/config.yaml`);

/** Opens a run to use it. */
export async function open(stored: StoredRun): Promise<TranslateRun> {
  const { path, config, state, step, options, engine } = stored;
  const settings = settingsIn(config, path);
  const tokenizer = stored.tokenizer ?? (await openTranslate(settings, options)).tokenizer;
  const model = translationModelOf(options.use ? inUse(settings, options.use) : settings, tokenizer.tokenizer.size);
  const weights = loadStateDict(model.parameters, state.weights, `${path}, step ${step}`);
  const pairs = async () => options.pairs ?? (await pairsCorpusOf(settings, options.say));
  const translate = async (lines: readonly string[], { average, onLine, ...beam }: TranslateOptions = {}) => {
    const taken = average === undefined ? weights : await averaged(path, model, average);
    const translator = await Translator.create(await engine(), model, taken, tokenizer.tokenizer, beam);
    try {
      return await translateLines(translator, tokenizer.tokenizer, lines, onLine);
    } finally {
      await translator.release();
    }
  };
  return {
    ...openRunBase("translate", stored, resume),
    settings,
    model,
    weights,
    tokenizer,
    evaluate: async ({ split = "valid", evaluateTokens = settings.evaluateTokens, ...how } = {}) => {
      const corpus = await pairs();
      const all = batchesOf(settings, corpus, tokenizer, split, () => {});
      const { batches, remark } = evaluatedPart(all, evaluateTokens, split);
      if (remark !== undefined) options.say?.(`evaluated on ${remark}`);
      return evaluateText(await engine(), model, weights, {
        batches,
        text: textSizeOf(corpus, tokenizer, split),
        ...how,
      });
    },
    translate,
    score: async (split, how) => {
      const { source, target } = pairsOf(await pairs(), split);
      const start = performance.now();
      const { score, precisions, brevityPenalty } = bleu(await translate(source, how), [target]);
      const seconds = (performance.now() - start) / 1000;
      return { split, sentences: source.length, bleu: score, precisions, brevityPenalty, seconds };
    },
  };
}

/** The mean of the last checkpoints that were kept. */
async function averaged(path: string, model: TranslationModel, count: number): Promise<Weights> {
  const run = await RunFolder.read(path);
  const kept = [...new Set((await run.checkpoints()).map(({ step }) => step))].sort((a, b) => b - a);
  if (kept.length < count) {
    const remedy = `train with keep ${count}`;
    rejectOption({ who: "average", needed: `${count} checkpoints`, got: `${kept.length} that were kept`, remedy });
  }
  const states = [];
  for (const step of kept.slice(0, count)) states.push((await run.readCheckpoint(step)).state.weights);
  return loadStateDict(model.parameters, averageCheckpoints(states), path);
}

async function translateLines(
  translator: Translator,
  tokenizer: Tokenizer,
  lines: readonly string[],
  onLine?: (count: number) => void,
): Promise<string[]> {
  const full = lines.flatMap((line, i) => (line.trim() === "" ? [] : [i]));
  const sources = full.map((i) => Int32Array.of(...tokenizer.encode(lines[i]!), tokenizer.eosId));
  const found = await translator.translate(sources, onLine);
  const results = lines.map(() => "");
  full.forEach((i, k) => {
    results[i] = tokenizer.decode(found[k]!);
  });
  return results;
}

/** Goes on with a run of translation. */
export function resume(path: string, options: ResumeOptions = {}): Session<TaskEvent, TrainedModel<TranslationModel>> {
  return resumeRun(path, options, async (run, resume, given) => {
    const settings = settingsIn(run.config, path);
    return translateJob(await openTranslate(resume ? { ...settings, init: null } : settings, given), given.say);
  });
}
