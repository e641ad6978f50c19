/** Runs of ALBERTs, pre-trained or imported: evaluated on masked text, looked into, exported, resumed. */
import { join } from "node:path";
import type { Attentions } from "../../analysis/attentions.ts";
import type { ProbeAnalysis, TagAnalysis } from "../../analysis/depth-analysis.ts";
import type { ProbeClassification } from "../../analysis/probe-classifier.ts";
import { reject } from "../../base/errors.ts";
import { mergedAlbert } from "../../model/albert/lora.ts";
import { RunFolder, TOKENIZER_FILE } from "../../runs/folder.ts";
import type { PlainText } from "../../text/labelled/text-task.ts";
import { specialIds } from "../../text/masked/documents.ts";
import type { TreebankSentence } from "../../text/probing/conllu.ts";
import type { ProbeSentence } from "../../text/probing/probing.ts";
import type { Session } from "../../train/session.ts";
import type { EvaluateOptions } from "../evaluate.ts";
import { type Exporting, exporting } from "../exporting.ts";
import type { TaskEvent } from "../job.ts";
import { type OpenRun, openRunBase, type ResumeOptions, type StoredRun } from "../open-run.ts";
import { resumeRun } from "../perform.ts";
import type { AnswerNotes } from "../transformers-js.ts";
import { type AlbertRun, albertIn, needTokenizer, parseAlbertRun } from "./albert-run.ts";
import {
  attentionsOfAlbert,
  type DepthOptions,
  type DepthsOf,
  depthsByKind,
  depthsByProbe,
  depthsByTag,
  depthsOfAlbert,
  type KindAnalysis,
  type KindOptions,
} from "./depths.ts";
import type { Embeddings, EmbedOptions } from "./embed.ts";
import type { FilledMask } from "./fill.ts";
import { openPretrain, PRETRAIN_COMMAND, type PretrainResult, pretrainJob } from "./job.ts";
import { maskedTexts, type TextChoice } from "./masked-texts.ts";
import { initialOf } from "./origin.ts";
import { type PretrainingConfig, pretrainSettings, searchKeys } from "./settings.ts";

/** What every ALBERT's run can do. */
export interface AlbertUses extends AlbertRun, Exporting {
  /** The tokens of a text with the iterations that each took; of several texts, a list each. */
  depths<T extends string | readonly string[]>(text: T, options?: DepthOptions): Promise<DepthsOf<T>>;
  /** Where the tokens of a text look: attention probabilities [iterations, heads, T, T]. */
  attentions(text: string, options?: DepthOptions): Promise<Attentions>;
  /** The likeliest pieces for each `[MASK]` of a text; for models with the head that guesses words. */
  fill(text: string, options?: { readonly top?: number | undefined }): Promise<FilledMask[]>;
  /** A vector per text: the pooled first token, or the mean of its tokens. */
  embed(texts: readonly (string | PlainText)[], options?: EmbedOptions): Promise<Embeddings>;
  /** Depths by kind of token in masked text: the run's own, or another. */
  depthsByKind(options?: KindOptions): Promise<KindAnalysis>;
  /** Depths by part of speech and relation in sentences of a treebank. */
  depthsByTag(sentences: readonly TreebankSentence[], options?: DepthOptions): Promise<TagAnalysis>;
  /** Depths by label and distance in probing sentences. */
  depthsByProbe(sentences: readonly ProbeSentence[], options?: DepthOptions): Promise<ProbeAnalysis>;
  /** How well labels of probing sentences are read out of frozen states, by a linear classifier per depth. */
  probeByDepth(sentences: readonly ProbeSentence[], options?: DepthOptions): Promise<ProbeClassification>;
}

/** How an ALBERT is evaluated on masked text. */
export interface MaskedOptions extends TextChoice, Omit<EvaluateOptions, "split" | "evaluateTokens"> {}

/** Figures of masked text; those of a head that the model lacks are absent. */
export interface MaskedFigures {
  readonly corpus: string;
  /** Of the masked words, or of the order of sentences where only that is guessed. */
  readonly loss: number;
  readonly perplexity: number;
  readonly tokens: number;
  readonly maskedAccuracy?: number;
  readonly orderLoss?: number;
  readonly orderAccuracy?: number;
  readonly meanDepth: number;
  readonly masked: number;
  readonly texts: number;
}

/** A pre-training, opened at a checkpoint. */
export interface PretrainRun extends OpenRun<"pretrain", PretrainResult>, AlbertUses {
  readonly settings: PretrainingConfig;
  evaluate(how?: MaskedOptions): Promise<MaskedFigures>;
}

/** An ALBERT that was imported: there is nothing to resume. */
export interface ImportedRun extends Omit<OpenRun<"imported", never>, "resume">, AlbertUses {
  evaluate(how?: MaskedOptions): Promise<MaskedFigures>;
}

/** The model of a stored run, with what can be done with it; `answers` says what its head was taught, where it was. */
export async function albertUses(stored: StoredRun, answers: AnswerNotes = {}): Promise<AlbertUses> {
  const albert = await albertIn(stored);
  const { corpus } = stored.options;
  const own = async <O extends DepthOptions>(options?: O) => ({
    ...options,
    engine: options?.engine ?? (await stored.engine()),
  });
  return {
    ...albert,
    depths: async (text, options) => depthsOfAlbert(albert, text, await own(options)),
    attentions: async (text, options) => attentionsOfAlbert(albert, text, await own(options)),
    fill: async (text, options) => {
      const { fillMasks } = await import("./fill.ts");
      return fillMasks(albert, await stored.engine(), text, options);
    },
    embed: async (texts, options) => {
      const { embedTexts } = await import("./embed.ts");
      return embedTexts(albert, await stored.engine(), texts, options);
    },
    depthsByKind: async (options) => depthsByKind(albert, { corpus, ...(await own(options)) }),
    depthsByTag: async (sentences, options) => depthsByTag(albert, sentences, await own(options)),
    depthsByProbe: async (sentences, options) => depthsByProbe(albert, sentences, await own(options)),
    probeByDepth: async (sentences, options) => {
      const { probeByDepth } = await import("../../analysis/probe-classifier.ts");
      const { tokenizer } = needTokenizer(albert);
      const { length } = albert.model.options;
      const probed = {
        model: albert.model,
        weights: albert.weights,
        tokenizer,
        special: specialIds(tokenizer),
        length,
      };
      const { engine, onText } = await own(options);
      return probeByDepth(engine, probed, sentences, { onText });
    },
    ...exporting({
      onnx: async (how) => {
        const { exportedAlbert } = await import("../exports.ts");
        const merged = mergedAlbert(albert);
        return exportedAlbert(merged, merged.weights, { tokenizer: albert.tokenizer?.bytes, ...how });
      },
      huggingface: async () => {
        const { huggingFaceAlbert } = await import("../huggingface.ts");
        const notes = { step: albert.step, tokenizer: albert.tokenizer?.bytes };
        const merged = mergedAlbert(albert);
        return huggingFaceAlbert(merged, merged.description.heads, merged.weights, notes);
      },
      "transformers.js": async () => {
        const { transformersJsAlbert } = await import("../transformers-js.ts");
        const merged = mergedAlbert(albert);
        return transformersJsAlbert(merged, merged.weights, needTokenizer(albert), answers);
      },
    }),
  };
}

/** Opens a pre-training to use it; its text is opened when it is first evaluated. */
export async function open(stored: StoredRun): Promise<PretrainRun> {
  const albert = await albertUses(stored);
  return {
    ...openRunBase("pretrain", stored, resume),
    ...albert,
    settings: storedPretraining(stored.config, stored.path).settings,
    evaluate: (how) => evaluateMasked(albert, stored, how),
  };
}

/** Opens an imported ALBERT. */
export async function openImported(stored: StoredRun): Promise<ImportedRun> {
  const albert = await albertUses(stored);
  const { resume: _, ...base } = openRunBase("imported", stored, resume);
  return {
    ...base,
    ...albert,
    evaluate: (how) => evaluateMasked(albert, stored, how),
  };
}

const [BATCH, LENGTH, PREDICTIONS] = [8, 128, 20];

async function evaluateMasked(run: AlbertRun, stored: StoredRun, given: MaskedOptions = {}): Promise<MaskedFigures> {
  const how = { corpus: stored.options.corpus, ...given };
  const { pretrainingEvaluator } = await import("./evaluation.ts");
  const sizes = { length: Math.min(LENGTH, run.model.options.length), predictions: PREDICTIONS };
  const { corpus, batches } = await maskedTexts(run, how, { rows: BATCH, ...sizes });
  const special = specialIds(needTokenizer(run).tokenizer);
  const all = { batches, special, texts: Number.POSITIVE_INFINITY, weights: run.weights };
  const evaluator = await pretrainingEvaluator(await stored.engine(), run, { batch: BATCH, ...sizes }, all);
  const { scalars = {}, tokens = 0 } = await evaluator.measure(run.weights, how);
  await evaluator.release();
  const { mlm_loss, mlm_accuracy: maskedAccuracy, sop_loss: orderLoss, sop_accuracy: orderAccuracy } = scalars;
  const loss = mlm_loss ?? orderLoss!;
  return {
    corpus: corpus.name,
    loss,
    perplexity: Math.exp(loss),
    tokens,
    ...(maskedAccuracy === undefined ? {} : { maskedAccuracy }),
    ...(orderLoss === undefined ? {} : { orderLoss, orderAccuracy: orderAccuracy! }),
    meanDepth: scalars["depth/all"] ?? run.model.policy.depth,
    masked: tokens,
    texts: evaluator.texts,
  };
}

/** The settings that a run was made with, and where its first weights came from. */
function storedPretraining(yaml: string, path: string) {
  const source = `${path}/config.yaml`;
  const { command, init, initStep, ...values } = parseAlbertRun(yaml, source).training ?? {};
  if (command !== PRETRAIN_COMMAND) {
    reject({ who: source, needed: `training of command ${PRETRAIN_COMMAND}`, got: `${command ?? "none"}` }, 2);
  }
  const settings = pretrainSettings.resolve([{ source, values: pretrainSettings.check(values, source) }]);
  return { settings, init: init as string | undefined, initStep: (initStep ?? undefined) as number | undefined };
}

/** The settings of a search that has ended, with the pattern it found in the place of blocks to choose; its tokenizer is its own. */
export async function foundSettings(path: string): Promise<Partial<PretrainingConfig>> {
  const { settings } = storedPretraining((await RunFolder.read(path)).config, path);
  const { keptEncoder } = await import("./found.ts");
  const found = settings.search ? await keptEncoder(path) : undefined;
  if (!found) {
    const got = settings.search ? "one that has not ended" : "no search";
    const remedy = settings.search ? `end it with \`layerwise resume ${path}\`` : "name a run of pretrain --search";
    return reject({ who: path, needed: "the search of an encoder", got, remedy }, 2);
  }
  const { corpus, data, ...others } = settings;
  const ofSearch = new Set<string>(searchKeys);
  const kept = Object.fromEntries(Object.entries(others).filter(([key]) => !ofSearch.has(key)));
  const tokenizer = join(path, TOKENIZER_FILE);
  return { ...kept, corpus, data, tokenizer, blocks: found.pattern };
}

/** Goes on with a pre-training. */
export function resume(path: string, options: ResumeOptions = {}): Session<TaskEvent, PretrainResult> {
  return resumeRun(path, options, async (run, resume, given) => {
    const { settings, init, initStep: step } = storedPretraining(run.config, path);
    const costs = settings.search ? await (await import("../search/result.ts")).keptCosts(path) : undefined;
    const parts = await openPretrain(settings, { ...given, costs });
    return pretrainJob(parts, resume ? undefined : await initialOf(init, parts, { step, say: given.say }));
  });
}
