import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { classification, type LabelledText } from "../../text/labelled/text-task.ts";
import type { AlbertSource } from "../pretrain/origin.ts";
import { tinyPretrained } from "../pretrain/tiny.contract.ts";
import { Run } from "../run.ts";
import { cappedBatches, exitDepths } from "./exit-depths.ts";
import { finetune } from "./finetune.ts";
import { openHead } from "./head-job.ts";
import { finetuneSettings } from "./settings.ts";
import { storedTuning } from "./tuned-run.ts";

const model = { vocabulary: 30, width: 8, heads: 2, depth: 3 };
const halting = {};

/** One word decides. */
const made = (count: number): LabelledText[] =>
  Array.from({ length: count }, (_, i) => ({
    text: `${["the", "a", "my"][i % 3]} ${i % 2 ? "good" : "bad"} ${["day", "house", "man", "time"][i % 4]}`,
    label: i % 2 ? "good" : "bad",
  }));

describe("depths that are drawn in training", () => {
  it("are those of a model whose tokens halt, by default where its head is fitted", () => {
    const of = (asked: "full" | "drawn" | null, headStart: "drawn" | "fitted", from: object = { halting }) =>
      exitDepths({ ...model, ...from }, { exitDepths: asked, headStart });
    expect([of(null, "fitted"), of("drawn", "drawn")]).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
    expect([of(null, "drawn"), of("full", "fitted"), of(null, "fitted", {})]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(() => of("drawn", "fitted", {})).toThrow(
      "finetune / exit-depths: expected a model whose tokens halt within a number of depths, got one of fixed depth",
    );
    expect(() => of("drawn", "drawn", { depth: "1 + 2*2 halt" })).toThrow('got the depth "1 + 2*2 halt"');
  });

  it("are the same for the same place over all epochs, and come to all depths", () => {
    const batches = { count: 2, rows: 8, at: (place: number) => ({ ids: Int32Array.of(place) }) };
    const capped = () => cappedBatches(batches, { depths: [1, 2, 3], seed: 7, batch: 8 });
    const [a, b] = [capped(), capped()];
    const caps = Array.from({ length: 6 }, (_, place) => [...(a.at(place).caps as Int32Array)]);
    expect([...(b.at(5).caps as Int32Array)]).toEqual(caps[5]);
    expect(new Set(caps.flat())).toEqual(new Set([1, 2, 3]));
    expect(caps[0]).not.toEqual(caps[2]);
    expect(a.at(3).ids).toEqual(Int32Array.of(3));
  });

  it("are refused by heads that tag, answer or choose, before a file is read", async () => {
    const settings = { ...finetuneSettings.defaults, exitDepths: "drawn" } as const;
    await expect(openHead("tagging", settings, { train: "none", dev: "none" })).rejects.toThrow(
      "finetune / exit-depths: expected classes or numbers of whole texts for depths that are drawn, got tagging",
    );
  });

  it("are taken in turn by very many texts, whose head is as good", { timeout: 60_000 }, async () => {
    const pre = await tinyPretrained({ width: 16, heads: 2, embedding: 8, depth: 3, halting: {} }, 16);
    const task = classification({ labels: ["bad", "good"] });
    const settings = { headStart: "fitted", pooling: "mean", steps: 1, rate: 1e-9 } as const;
    const tuned = await finetune(pre, { task, train: made(5001), dev: made(24), ...settings }).result;
    expect(tuned.epochs[0]!.figures.accuracy).toBe(1);
  });

  it("stay away from runs that are older than the setting", async () => {
    const pre = await tinyPretrained({ width: 16, heads: 2, embedding: 8, depth: 3, halting: {} }, 16);
    const path = join(ownFolder("exit-depths"), "run");
    const data = { task: classification({ labels: ["bad", "good"] }), train: made(16), dev: made(8) };
    await finetune(pre, { ...data, headStart: "fitted", steps: 1, into: await Run.create(path) }).result;
    const config = readFileSync(join(path, "config.yaml"), "utf8");
    const asked = (yaml: string) => storedTuning(yaml, path, ["glueTask", "textTask"]).settings.exitDepths;
    expect([asked(config), asked(config.replace(/ *exitDepths: null\n/, ""))]).toEqual([null, "full"]);
  });

  it("make one head serve all of them", { timeout: 60_000 }, async () => {
    const pre = await tinyPretrained({ width: 16, heads: 2, embedding: 8, depth: 3, halting: { biasInitial: -2 } }, 16);
    const settings = { headStart: "fitted", pooling: "mean", epochs: 1, batch: 8, rate: 1e-4 } as const;
    const lossAt = async (asked: "full" | "drawn", from: AlbertSource) => {
      const task = classification({ labels: ["bad", "good"] });
      const data = { task, train: made(64), dev: made(24) };
      const tuned = await finetune(from, { ...data, ...settings, exitDepths: asked }).result;
      const said = await tuned.predict(
        data.dev.map(({ text }) => text),
        { cap: 1 },
      );
      return (
        -said.reduce((sum, { scores }, i) => sum + Math.log(scores[data.dev[i]!.label as string]!), 0) / said.length
      );
    };
    expect(await lossAt("drawn", pre)).toBeLessThan(await lossAt("full", pre));
  });
});
