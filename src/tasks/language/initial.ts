/** First weights of a language model out of another run: as they are or, of a model of another depth, mapped block by block. */
import type { LanguageModel } from "../../model/language/language.ts";
import { loadStateDict, type NamedTensors } from "../../model/state-dict.ts";
import { storedSettings } from "../../runs/settings-file.ts";
import type { Weights } from "../../train/stages.ts";
import { initialFrom, type Taken } from "../initial.ts";
import type { Say } from "../job.ts";
import { type LanguageConfig, languageSettings } from "./settings.ts";

/** What the source's model is made by: handed over, since the job that makes models starts from here. */
type ModelOf = (settings: LanguageConfig, vocabulary: number) => LanguageModel;

/** The weights that settings name for a model, and the settings with the checkpoint that was taken written down. */
export function initialLanguage(settings: LanguageConfig, model: LanguageModel, modelOf: ModelOf, say: Say = () => {}) {
  const take: Taken = async (run, tensors, who) => {
    const same = model.parameters.length === tensors.size && model.parameters.every(({ name }) => tensors.has(name));
    if (same) return loadStateDict(model.parameters, tensors, who);
    const stored = storedSettings(languageSettings, run.config, `${run.path}/config.yaml`);
    const source = modelOf(stored, vocabularyIn(tensors));
    return mapped(
      settings,
      model,
      { model: source, weights: loadStateDict(source.parameters, tensors, who), who },
      say,
    );
  };
  return initialFrom(settings, model.parameters, say, take);
}

const vocabularyIn = (tensors: NamedTensors) => tensors.get("embedding.weight")?.shape[0] ?? 1;

interface Source {
  readonly model: LanguageModel;
  readonly weights: Weights;
  readonly who: string;
}

async function mapped(
  { initBlocks, seed }: LanguageConfig,
  target: LanguageModel,
  { model, weights, who }: Source,
  say: Say,
): Promise<Weights> {
  const { sharedFrom } = await import("../../model/language/shared-from.ts");
  const { sharedText } = await import("./shared-text.ts");
  const found = sharedFrom(target, model, weights, { blocks: initBlocks, seed });
  say(sharedText(found, who, initBlocks));
  otherMeanings(target, model).forEach(say);
  return found.weights;
}

/** Options that weights fit either way, and under which they compute something else. */
const silent = ["heads", "keyHeads", "activation", "norm", "normEpsilon", "positions", "rotaryBase"] as const;

function otherMeanings({ options: ours }: LanguageModel, { options: theirs }: LanguageModel): string[] {
  return silent.flatMap((key) => {
    const [now, then] = [ours[key] ?? "as usual", theirs[key] ?? "as usual"];
    return now === then
      ? []
      : [`${key} is ${now} here and was ${then} in the source: its weights were trained for that`];
  });
}
