/** Where first weights come from: another ALBERT, in memory or in a run folder. */
import { existsSync, statSync } from "node:fs";
import { reject } from "../../base/errors.ts";
import type { DescribedAlbert } from "../../model/albert/description.ts";
import { mergedAlbert } from "../../model/albert/lora.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { Weights } from "../../train/stages.ts";
import type { Say } from "../job.ts";
import { openAlbertRun, type TrainedAlbert, transferred, withoutPairs } from "./albert-run.ts";
import type { PretrainParts } from "./stage.ts";
import { fittedTo } from "./vocabulary.ts";

/** An ALBERT, or the run folder it lies in. */
export type AlbertSource = string | TrainedAlbert;

/** What a config.yaml says instead of a folder. */
const GIVEN = "given by a program";

/** The model itself, its adapters merged: of a run folder the best checkpoint, or the last, or that of a step. */
export async function albertFrom(
  source: AlbertSource,
  { step, say }: { readonly step?: number | undefined; readonly say?: Say | undefined } = {},
): Promise<TrainedAlbert> {
  if (typeof source !== "string") return mergedAlbert(source);
  if (source === GIVEN) {
    const remedy = "begin again with the program that gave them";
    reject({ who: "first weights", needed: "a run folder", got: `weights ${GIVEN}`, remedy }, 2);
  }
  if (existsSync(source) && !statSync(source).isDirectory()) {
    const remedy = `take it over first: layerwise import ${source} --out models/mine`;
    reject({ who: source, needed: "a run folder", got: "a file", remedy }, 2);
  }
  return mergedAlbert(await openAlbertRun(source, { checkpoint: step, say }));
}

/** The folder and the step by which it is found again. */
export const placeOf = ({ path = GIVEN, step }: TrainedAlbert) => ({ path, step: step ?? null });

/** First weights out of another ALBERT: encoder and, where it has them, heads. */
export interface Initial {
  readonly from: TrainedAlbert;
  readonly weights: Weights;
}

/** Which checkpoint first weights are out of, who is told, and the tokenizer that they are to fit. */
export interface InitialOptions {
  /** Default: it is not looked at. */
  readonly tokenizer?: OpenTokenizer | undefined;
  /** Give the model the tokenizer's vocabulary. Default: off. */
  readonly resize?: boolean | undefined;
  readonly step?: number | undefined;
  readonly say?: Say | undefined;
}

/** Takes over what fits from another ALBERT; the rest is drawn from the seed. */
export async function initialFrom(
  source: AlbertSource,
  described: DescribedAlbert,
  seed: number,
  { tokenizer, resize = false, ...how }: InitialOptions = {},
): Promise<Initial> {
  const from = await albertFrom(source, how);
  const { pairs = 0 } = from.description.model;
  const leaves = pairs > 0 && described.model.options.pairs === 0;
  if (leaves)
    how.say?.(`the table of pairs of ${from.path ?? "the model"} is left out: --pairs ${pairs} takes it over`);
  const own = leaves ? withoutPairs(from) : from;
  const fitted = tokenizer ? fittedTo(own, { tokenizer, resize, seed, exact: true, say: how.say }) : own;
  return { from, weights: transferred(fitted, described, seed).weights };
}

/** The first weights of a pre-training; undefined where they are drawn. */
export async function initialOf(
  source: AlbertSource | undefined,
  {
    settings: { seed, resizeVocabulary: resize, pairs, documentShare },
    data: { tokenizer },
    described,
  }: Pick<PretrainParts, "settings" | "data" | "described">,
  how: Pick<InitialOptions, "step" | "say"> = {},
): Promise<Initial | undefined> {
  const initial =
    source === undefined ? undefined : await initialFrom(source, described, seed, { ...how, tokenizer, resize });
  if (pairs > 0 && documentShare === 0 && !initial?.from.description.model.pairs) {
    const [needed, got] = ["--pairs with words of documents, from which they learn", "no such words"];
    reject({ who: "pretrain", needed, got, remedy: "give --document-share too" }, 2);
  }
  if (initial || !resize) return initial;
  const [needed, remedy] = ["--init RUN, another vocabulary's weights", "leave it out"];
  return reject({ who: "--resize-vocabulary", needed, got: "none", remedy }, 2);
}

/** What config.yaml keeps of it. */
export function originOf({ from }: Initial): { init: string; initStep: number | null } {
  const { path, step } = placeOf(from);
  return { init: path, initStep: step };
}
