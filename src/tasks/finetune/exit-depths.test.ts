import { describe, expect, it } from "vitest";
import { classification, type LabelledText } from "../../text/labelled/text-task.ts";
import type { AlbertSource } from "../pretrain/origin.ts";
import { tinyPretrained } from "../pretrain/tiny.contract.ts";
import { cappedBatches, exitDepths } from "./exit-depths.ts";
import { finetune } from "./finetune.ts";

const model = { vocabulary: 30, width: 8, heads: 2, depth: 3 };
const halting = {};

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

  it("make one head serve all of them", { timeout: 60_000 }, async () => {
    const pre = await tinyPretrained({ width: 16, heads: 2, embedding: 8, depth: 3, halting: { biasInitial: -2 } }, 16);
    const made = (count: number): LabelledText[] =>
      Array.from({ length: count }, (_, i) => ({
        text: `${["the", "a", "my"][i % 3]} ${i % 2 ? "good" : "bad"} ${["day", "house", "man", "time"][i % 4]}`,
        label: i % 2 ? "good" : "bad",
      }));
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
