import { beforeAll, describe, expect, it } from "vitest";
import { stateDict } from "../../model/state-dict.ts";
import { openCorpus } from "../../text/files/corpus.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import { trainTokenizer } from "../../text/tokenizer-training.ts";
import { type PretrainResult, pretrain } from "./index.ts";
import { tinyPretrained } from "./tiny.contract.ts";
import { fittedTo, rowsOf } from "./vocabulary.ts";

const TEXT = "fixtures/runs/data/text";
const model = { width: 16, heads: 2, embedding: 8, depth: 2 };
const WORDS = "embeddings.word_embeddings.weight";

let [pre, larger]: [PretrainResult?, OpenTokenizer?] = [];
beforeAll(async () => {
  pre = await tinyPretrained(model, 16);
  const pieces = pre.tokenizer!.tokenizer.size + 40;
  larger = await trainTokenizer(await openCorpus(TEXT), { pieces, masked: true });
});

const rowOf = (of: Pick<PretrainResult, "parameters" | "weights">, row: number) => {
  const { data } = stateDict(of.parameters, of.weights).get(WORDS)!;
  return [...data.subarray(row * 8, row * 8 + 8)];
};

describe("another vocabulary", () => {
  it("keeps the rows of pieces that both have, by their text, and says how many", () => {
    const said: string[] = [];
    const fitted = fittedTo(pre!, { tokenizer: larger!, resize: true, seed: 1, say: (text) => said.push(text) });
    const rows = rowsOf(pre!.tokenizer!.tokenizer, larger!.tokenizer);
    const kept = rows.filter((row) => row >= 0).length;
    expect(kept).toBeGreaterThan(rows.length / 2);
    expect(kept).toBeLessThan(rows.length);
    expect(said.join()).toMatch(
      new RegExp(`^vocabulary: ${kept} of ${rows.length} pieces keep .* ${rows.length - kept} get new ones$`),
    );
    expect(fitted.description.model.vocabulary).toBe(larger!.tokenizer.size);
    for (const [id, row] of rows.entries()) if (row >= 0) expect(rowOf(fitted, id)).toEqual(rowOf(pre!, row));
    const cls = larger!.tokenizer.idOf("[CLS]");
    expect(rowOf(fitted, cls)).toEqual(rowOf(pre!, pre!.tokenizer!.tokenizer.idOf("[CLS]")));
  });

  it("is refused where it is larger and nobody asked for it, and told where it is another", () => {
    expect(() => fittedTo(pre!, { tokenizer: larger!, resize: false, seed: 1 })).toThrow(
      /expected at most the \d+ pieces of the model, got \d+; set --resize-vocabulary/,
    );
    const said: string[] = [];
    const roomy = {
      ...pre!,
      description: { ...pre!.description, model: { ...pre!.description.model, vocabulary: 9999 } },
    };
    fittedTo(roomy, { tokenizer: larger!, resize: false, seed: 1, say: (text) => said.push(text) });
    expect(said.join()).toMatch(/\d+ of \d+ pieces of tokenizer .* have the embeddings of other pieces/);
    expect(fittedTo(pre!, { tokenizer: pre!.tokenizer!, resize: false, seed: 1 })).toBe(pre);
  });

  it("begins a pre-training with another's weights", { timeout: 60_000 }, async () => {
    const options = {
      model,
      corpus: TEXT,
      tokenizer: larger!,
      length: 16,
      batch: 4,
      steps: 1,
      evaluateTexts: 4,
      rate: 1e-9,
    };
    await expect(pretrain({ ...options, init: pre! }).result).rejects.toThrow(/expected the \d+ pieces of the model/);
    await expect(pretrain({ ...options, resizeVocabulary: true }).result).rejects.toThrow(
      "--resize-vocabulary: expected --init RUN",
    );
    const further = await pretrain({ ...options, init: pre!, resizeVocabulary: true }).result;
    const [id, row] = [larger!.tokenizer, pre!.tokenizer!.tokenizer].map((each) => each.idOf("▁the")) as [
      number,
      number,
    ];
    for (const [i, value] of rowOf(further, id).entries()) expect(value).toBeCloseTo(rowOf(pre!, row)[i]!, 6);
  });
});
