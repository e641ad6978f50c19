import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { describedAlbert } from "../../model/albert/description.ts";
import { initialise } from "../../nn/index.ts";
import { RunFolder } from "../../runs/folder.ts";
import {
  albertContent,
  albertRunYaml,
  firstState,
  needTokenizer,
  openAlbertRun,
  parseAlbertRun,
  transferred,
} from "./albert-run.ts";

const folder = ownFolder("albertrun");

const sizes = { vocabulary: 20, embedding: 4, width: 8, heads: 2, hidden: 16, depth: 3, length: 10 };
const description = {
  model: { ...sizes, halting: { ponder: 0.01, ponderWarmup: 50 } },
  heads: { maskedLanguage: { predictions: 3 }, sentenceOrder: {} },
};

async function written(name: string) {
  const path = join(folder, name);
  const content = albertContent({ description, training: { rate: 0.1 } });
  const run = await RunFolder.create(path, { ...content, environment: {} });
  const { parameters } = describedAlbert(description);
  const weights = initialise(parameters, 7);
  await run.writeCheckpoint(firstState(parameters, weights));
  run.close();
  return { path, values: parameters.map(({ tensor }) => weights.get(tensor)!) };
}

describe("an ALBERT's run", () => {
  it("opens with the model, heads and weights it was made with", async () => {
    const { path, values } = await written("a");
    const run = await openAlbertRun(path);
    expect(run.config).toEqual({ task: "albert", ...description, training: { rate: 0.1 } });
    expect(Object.keys(run.heads)).toEqual(["maskedLanguage", "sentenceOrder"]);
    expect(run.parameters.map(({ tensor }) => run.weights.get(tensor))).toEqual(values);
    expect(() => needTokenizer(run)).toThrow("expected a SentencePiece model beside the weights, got none");
  });

  it("gives its encoder to other heads, whose weights are new", async () => {
    const run = await openAlbertRun((await written("b")).path);
    const other = describedAlbert({ model: run.config.model, heads: { classification: { labels: 3 } } });
    const { weights, fresh } = transferred(run, other, 1);
    expect(fresh.map(({ name }) => name)).toEqual(["classifier.weight", "classifier.bias"]);
    other.model.parameters.forEach(({ tensor }, i) => {
      expect(weights.get(tensor)).toEqual(run.weights.get(run.model.parameters[i]!.tensor));
    });
  });

  it.each([
    [{ model: { width: "8" } }, 'c / model / width: expected a whole number from 1 to 65536, got "8"'],
    [{ model: { ...sizes, deepth: 3 } }, "c / model: expected a known key, got deepth; did you mean depth?"],
    [{ model: { ...sizes, depth: undefined } }, "c / model: expected a value of depth, got none"],
    [{ model: { ...sizes, activation: "mish" } }, "c / model / activation: expected one of gelu, gelu_new"],
    [{ model: { ...sizes, halting: { pads: "no" } } }, "c / model / halting / pads: expected one of skip, run"],
    [
      { model: sizes, heads: { classification: { labels: 0 } } },
      "c / heads / classification / labels: expected a whole",
    ],
    [{ model: sizes, heads: { sop: {} } }, "c / heads: expected a known key, got sop"],
  ])("is refused for a bad config: %j", (config, message) => {
    const yaml = albertRunYaml({ task: "albert", heads: {}, ...config } as never);
    expect(() => parseAlbertRun(yaml, "c")).toThrow(message);
  });

  it("is told from runs of other tasks", () => {
    expect(() => parseAlbertRun("width: 8", "c")).toThrow(
      "c: expected an ALBERT's run (task albert), got task language",
    );
  });

  it("has no two heads that own one name", () => {
    const heads = { classification: { labels: 2 }, multipleChoice: { choices: 2 } };
    expect(() => describedAlbert({ model: sizes, heads })).toThrow("which both own classifier.weight");
  });
});
