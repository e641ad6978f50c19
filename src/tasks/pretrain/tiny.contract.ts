/** An ALBERT that tests fine-tune: as good as untrained, on the text of the fixtures. */
import { type PretrainOptions, type PretrainResult, pretrain } from "./index.ts";

/** Pre-trains a model for a step. */
export function tinyPretrained(
  model: PretrainOptions["model"],
  length: number,
  settings: Partial<PretrainOptions> = {},
): Promise<PretrainResult> {
  const data = "fixtures/runs/data";
  const texts = { corpus: `${data}/text`, tokenizer: `${data}/tokenizer.model`, length, batch: 4 };
  return pretrain({ model, ...texts, steps: 1, evaluateTexts: 4, ...settings }).result;
}
