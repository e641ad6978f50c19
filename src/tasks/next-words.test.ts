import { describe, expect, it } from "vitest";
import { nextWords } from "./next-words.ts";

const predictOf = (kind: string, training: object) =>
  nextWords(kind, { task: "albert", training }).find((line) => line.startsWith("predict"));

describe("what is next", () => {
  it("asks a fine-tuned run about one text, or about two where it learnt from two", () => {
    expect(predictOf("finetune", { glueTask: "SST-2" })).toBe("predict RUN --text 'a lovely film'");
    const own = { glueTask: "classification", textTask: {} };
    expect(predictOf("finetune", { ...own, files: { task: "classification" } })).not.toContain("--pair");
    const pairs = /^predict RUN --text '.*' --pair '.*'$/;
    expect(predictOf("finetune", { glueTask: "RTE" })).toMatch(pairs);
    expect(predictOf("finetune", { ...own, files: { task: "pairs" } })).toMatch(pairs);
    expect(predictOf("finetune", { ...own, files: { task: "regression", pair: "b" } })).toMatch(pairs);
  });

  it("asks every head in the form that it takes", () => {
    const files = { train: "a", dev: "my dev.jsonl" };
    expect(predictOf("head", { spec: { kind: "tagging" }, files })).toBe("predict RUN --text 'alice went to rome'");
    expect(predictOf("head", { spec: { kind: "qa" }, files })).toMatch(/--text '.*' --pair '.*\?'$/);
    expect(predictOf("head", { spec: { kind: "choice" }, files })).toBe("predict RUN 'my dev.jsonl'");
  });
});
