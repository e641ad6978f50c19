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

const settingsWith = (more: object) =>
  translateSettings.resolve([{ source: "test", values: { ...values, unique: null, ...more, steps: 6 } }]);

describe("a translation with a depth in words on each side", () => {
  const written = settingsWith({ depth: "1+1*2 halt(ponderWarmup=4)", decoderDepth: "1*3 route(expert)" });

  it("is described side by side, and resumes to the same bits", async () => {
    const path = join(folder, "written");
    const job = await openJob(written, { pairs });
    const rows = Object.fromEntries(job.describe().map(({ what, value }) => [what, value]));
    expect(rows).toMatchObject({
      "encoder depth": "1 + 1*2 halt(ponderWarmup=4): 3 at most (2 own weights)",
      "decoder depth": "1*3 route(expert): 3 at most (1 own weights)",
      "executed depth": "6 (3 own weights)",
    });
    const whole = await perform(job).result;
    const session = perform(await openJob(written, { pairs }), { into: await newRun(path) });
    for await (const event of session) if (event.type === "step" && event.step === 3) break;
    await session.result;
    const resumed = await (await Run.open(path, "translate", { pairs })).resume({ pairs }).result;
    expect(Buffer.compare(bytes(resumed.weights), bytes(whole.weights))).toBe(0);
  });

  it("is used less deep than it was trained, and says how deep its tokens ran", async () => {
    const path = join(folder, "written");
    const opened = (use: object) => Run.open(path, "translate", { pairs, use });
    const { encoderDepth, decoderDepth } = await (await Run.open(path, "translate", { pairs })).evaluate();
    expect([encoderDepth! >= 2, encoderDepth! <= 3, decoderDepth! >= 1, decoderDepth! <= 3]).not.toContain(false);
    const shallow = await opened({ cap: 1 });
    expect([shallow.model.encoder.depth, shallow.model.decoder.depth]).toEqual([2, 1]);
    expect(await shallow.evaluate()).toMatchObject({ encoderDepth: 2, decoderDepth: 1 });
    expect(await shallow.translate(["a dog sees a cat"])).toHaveLength(1);
    await expect(opened({ loops: 3 })).rejects.toThrow(
      'loops in use: expected a depth with loop, got "1 + 1*2 halt(ponderWarmup=4)" and "1*3 route(expert)"',
    );
  });

  it.each<[object, string]>([
    [{ depth: "2*3 halt", unique: 2 }, 'depth: expected all of it in one text, got unique beside "2*3 halt"'],
    [
      { decoderDepth: "2*3", norms: "per-depth" },
      'decoderDepth: expected all of it in one text, got norms beside "2*3"',
    ],
    [{ decoderDepth: 2, decoderPlan: "0,0" }, "decoderDepth: expected one order of the decoder's blocks"],
    [{ depth: "2*3 hald" }, "write halt"],
  ])("refuses the settings %j", (more, message) => {
    expect(() => settingsWith(more)).toThrow(message);
  });

  it("is refused before pairs are opened where a side cannot have it", async () => {
    const absent = { corpus: join(folder, "absent"), depth: "1*2 exits(gate)" };
    await expect(openJob(settingsWith(absent))).rejects.toThrow("encoder depth: expected a depth without exits");
  });

  it("may be a number of the decoder's alone", async () => {
    const job = await openJob(settingsWith({ depth: 2, decoderDepth: 1 }), { pairs });
    expect(job.describe().map(({ what, value }) => `${what}: ${value}`)).toEqual(
      expect.arrayContaining(["encoder plan: 0 1", "decoder depth: 1: 1 at most (1 own weights)"]),
    );
  });
});

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
