/** Adapters at use: a model with what LoRA learnt on top of it, to be swapped. */
import { reject, rejectFile } from "../../base/errors.ts";
import type { Engine } from "../../engine/engine.ts";
import { sha256 } from "../../files/checksum.ts";
import { describedAlbert } from "../../model/albert/description.ts";
import { adapterParts, mergedAlbert } from "../../model/albert/lora.ts";
import { loadAlbert } from "../../model/albert/weights.ts";
import { type NamedTensor, type NamedTensors, stateDict } from "../../model/state-dict.ts";
import type { PlainText, TextTask } from "../../text/labelled/text-task.ts";
import { defaultEngine } from "../engine.ts";
import { needTokenizer, type TrainedAlbert } from "../pretrain/albert-run.ts";
import { type Adapter, baseBytes, only, readAdapter } from "./adapter.ts";
import { type Answered, type AnsweringHow, answersAt } from "./head-answers.ts";
import { type HeadAnswer, type HeadInput, headTaskOf } from "./head-job.ts";
import type { HeadSpec } from "./head-spec.ts";
import { type Prediction, type PredictOptions, predictTexts } from "./predictions.ts";

/** A model with an adapter in place of its head: it predicts what the adapter was trained for. */
export interface AdaptedAlbert extends TrainedAlbert {
  readonly task: TextTask;
  predict(texts: readonly (string | PlainText)[], options?: PredictOptions): Promise<Prediction[]>;
}

/** Puts an adapter, or the one of a folder, on the model it was trained on; another model is refused. */
export async function withAdapter(
  albert: TrainedAlbert,
  given: Adapter | string,
  { engine }: { readonly engine?: Engine | undefined } = {},
): Promise<AdaptedAlbert> {
  const adapter = typeof given === "string" ? await readAdapter(given) : given;
  if (adapter.head) return refuseHead(adapter, "withHeadAdapter");
  const adapted = adaptedModel(albert, adapter);
  const { task, length } = adapter;
  const tuned = { ...adapted, described: adapted, length };
  return {
    ...adapted,
    task,
    predict: async (texts, options) =>
      predictTexts({ ...tuned, engine: engine ?? (await defaultEngine()) }, task, texts, options),
  };
}

/** A model with the adapter of a head that tags, answers or chooses. */
export interface AdaptedHead extends TrainedAlbert {
  readonly spec: HeadSpec;
  answered(examples: readonly HeadInput[], how?: AnsweringHow): Promise<Answered<HeadAnswer>[]>;
}

/** The same as `withAdapter` for a run of tagging, answers or choices. */
export async function withHeadAdapter(
  albert: TrainedAlbert,
  given: Adapter | string,
  { engine }: { readonly engine?: Engine | undefined } = {},
): Promise<AdaptedHead> {
  const adapter = typeof given === "string" ? await readAdapter(given) : given;
  const { head: spec, length } = adapter;
  if (!spec) return refuseHead(adapter, "withAdapter");
  const adapted = adaptedModel(albert, adapter);
  const { tokenizer } = adapted.tokenizer;
  const opened = { task: headTaskOf(spec), described: adapted, tokenizer, length, batch: BATCH, seed: 1 };
  return {
    ...adapted,
    spec,
    answered: async (examples, how) => {
      if (examples.length === 0) return [];
      const own = { ...opened, engine: engine ?? (await defaultEngine()) };
      return [...(await answersAt(adapted.description, own, adapted.weights, examples, how)).each];
    },
  };
}

/** Examples per batch. */
const BATCH = 16;

function refuseHead({ path, task, head }: Adapter, remedy: string): never {
  const needed = head ? "an adapter of labelled texts" : "an adapter of tagging, qa or choice";
  return reject({ who: path, needed, got: `one of ${task.name}`, remedy: `call ${remedy}` }, 2);
}

/** The model below an adapter, with its weights and the adapter's. */
function adaptedModel(albert: TrainedAlbert, adapter: Adapter) {
  // A run with adapters of its own may be meant with them or without.
  const base = [albert, mergedAlbert(albert)].find((each) => sha256(baseBytes(each, each.weights)) === adapter.base);
  if (!base) return refuseBase(adapter, albert);
  const { frozen } = adapterParts(base);
  const description = { model: { ...base.description.model, lora: adapter.lora }, heads: adapter.heads };
  const described = describedAlbert(description);
  const tensors: NamedTensors = new Map<string, NamedTensor>([
    ...stateDict(frozen, only(frozen, base.weights)),
    ...adapter.tensors,
  ]);
  const { weights } = loadAlbert(described.parameters, tensors, adapter.path);
  return { ...described, description, weights, tokenizer: needTokenizer(albert) };
}

const refuseBase = ({ path, base }: Adapter, albert: TrainedAlbert): never =>
  rejectFile({
    who: path,
    needed: `the model it was trained on (SHA-256 ${base.slice(0, 12)}…)`,
    got: `${albert.path ?? "a model"}, whose weights are others`,
    remedy: "name the run that was fine-tuned, at the same checkpoint",
  });
