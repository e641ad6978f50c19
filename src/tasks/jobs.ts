/** Jobs of `layerwise train` by the task in their settings. */
import type { LanguageModel } from "../model/language/language.ts";
import type { TranslationModel } from "../model/seq2seq/translation.ts";
import type { Job } from "./job.ts";
import type { Given } from "./text-data.ts";
import type { TrainConfig, TrainedModel } from "./trained-job.ts";

/** Opens the job that settings describe. */
export async function openJob(
  settings: TrainConfig,
  given: Given = {},
): Promise<Job<TrainedModel<LanguageModel> | TrainedModel<TranslationModel>>> {
  if (settings.task === "translate") {
    const { openTranslate, translateJob } = await import("./translate/job.ts");
    return translateJob(await openTranslate(settings, given), given.say);
  }
  const { languageJob, openLanguage } = await import("./language/job.ts");
  return languageJob(await openLanguage(settings, given), given);
}
