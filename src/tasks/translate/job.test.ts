import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { pairsCorpus, type SentencePair } from "../../text/pairs/pairs-corpus.ts";
import { openJob } from "../jobs.ts";
import { newRun } from "../new-run.ts";
import { perform } from "../perform.ts";
import { Run } from "../run.ts";
import { translateSettings } from "./settings.ts";

const folder = ownFolder("pairs-in-memory");
const words = ["dog", "cat", "bird", "fish", "horse", "mouse"];
const all = words.flatMap((a) => words.map((b): SentencePair => [`a ${a} sees a ${b}`, `ein ${b} von ${a} gesehen`]));
const pairs = pairsCorpus({ train: all }, { name: "animals", source: "en", target: "de" });
const values = { width: 16, heads: 2, unique: 1, depth: 2, batch: 4, length: 24, pieces: 32, threads: 1 };
const settings = translateSettings.resolve([{ source: "test", values: { ...values, steps: 6 } }]);
const bytes = (weights: Iterable<readonly [unknown, Float32Array]>) =>
  Buffer.concat([...weights].map(([, data]) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength)));

describe("sentence pairs in memory", () => {
  it("train a translation, whose run is resumed and scored with them, and with nothing else", async () => {
    const path = join(folder, "run");
    const whole = await perform(await openJob(settings, { pairs })).result;
    const session = perform(await openJob(settings, { pairs }), { into: await newRun(path) });
    for await (const event of session) if (event.type === "step" && event.step === 3) break;
    expect((await session.result).reason).toBe("stopped");
    const run = await Run.open(path, "translate", { pairs });
    expect([run.settings.corpus, run.settings.source, run.settings.target]).toEqual(["memory:animals", "en", "de"]);
    expect((await run.score("test")).sentences).toBe(2);
    const resumed = await run.resume({ pairs }).result;
    expect(Buffer.compare(bytes(resumed.weights), bytes(whole.weights))).toBe(0);
    await expect(run.resume().result).rejects.toThrow("pass it: run.resume({ pairs })");
    const other = pairsCorpus({ train: all.toReversed() }, { name: "animals", source: "en", target: "de" });
    await expect(run.resume({ pairs: other, steps: 8 }).result).rejects.toThrow("text");
  });

  it("are cut into parts where there is one only, and refused where they are no pairs", () => {
    expect([...pairs.parts!].map(([split, { source }]) => [split, source.length])).toEqual([
      ["train", 32],
      ["valid", 2],
      ["test", 2],
    ]);
    const bad = [["a dog"]] as unknown as SentencePair[];
    expect(() => pairsCorpus({ train: bad })).toThrow(
      "pairs pairs / train / 0: expected [source, target], two strings",
    );
    expect(() => pairsCorpus({ train: all, dev: all } as never)).toThrow("dev");
  });
});
