import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../test/command.ts";
import { ProtoReader } from "../format/protobuf.ts";
import { readRecords } from "../format/tfrecord.ts";
import { eventFiles } from "../runs/tensorboard.ts";
import { classification, type LabelledText } from "../text/labelled/text-task.ts";
import { finetune } from "./finetune/index.ts";
import { openJob } from "./jobs.ts";
import { languageSettings } from "./language/settings.ts";
import { perform } from "./perform.ts";
import { pretrain } from "./pretrain/index.ts";
import { Run } from "./run.ts";

const folder = ownFolder("histograms");
const words = ["the cat sat on the mat", "a dog ran to the house", "my day was good and long", "the man went home"];

interface Histogram {
  readonly step: number;
  readonly tag: string;
  readonly count: number;
  readonly inBuckets: number;
}

/** The histograms of a run, out of its event files. */
function histogramsOf(path: string): Histogram[] {
  const files = eventFiles(join(path, "tensorboard"));
  const records = files.flatMap((file) => [...readRecords(readFileSync(file), file)]);
  return records.flatMap((record) => histogramsIn(record));
}

// Field numbers of event.proto and summary.proto: step 2, summary 5; value 1; tag 1, histogram 5; count 3, bucket 7.
function histogramsIn(record: Uint8Array): Histogram[] {
  const [event, found] = [new ProtoReader(record, "event"), [] as Histogram[]];
  let step = 0;
  while (!event.done) {
    const { field, wire } = event.tag();
    if (field === 2) step = event.integer();
    else if (field === 5) {
      const summary = event.message();
      while (!summary.done) {
        summary.tag();
        const value = summary.message();
        let tag = "";
        while (!value.done) {
          const each = value.tag();
          if (each.field === 1) tag = value.string();
          else if (each.field === 5) found.push({ step, tag, ...countsIn(value.message()) });
          else value.skip(each.wire);
        }
      }
    } else event.skip(wire);
  }
  return found;
}

function countsIn(histogram: ProtoReader) {
  let [count, inBuckets] = [0, 0];
  while (!histogram.done) {
    const { field } = histogram.tag();
    const value = histogram.double();
    if (field === 3) count = value;
    if (field === 7) inBuckets += value;
  }
  return { count, inBuckets };
}

const data = { corpus: "fixtures/runs/data/text", tokenizer: "fixtures/runs/data/tokenizer.model" };
const small = { width: 16, heads: 2, embedding: 8, depth: 2, halting: {} };
const stepsOf = (found: readonly Histogram[]) => [...new Set(found.map(({ step }) => step))];

describe("histograms of weights", () => {
  it("show every parameter at evaluations of pre-training and of fine-tuning, also over a stop", async () => {
    const [before, path] = [join(folder, "pre"), join(folder, "tuned")];
    const training = { ...data, steps: 4, evaluateEvery: 2, evaluateTexts: 4, length: 16, batch: 2 };
    const into = await Run.create(before);
    const pre = await pretrain({ model: small, ...training, histogramEvery: 1, into }).result;
    const found = histogramsOf(before);
    expect(stepsOf(found)).toEqual([2, 4]);
    const sizes = new Map(
      pre.parameters.map(({ name, tensor }) => [`weights/${name}`, pre.weights.get(tensor)!.length]),
    );
    expect(new Map(found.map(({ tag, count }) => [tag, count]))).toEqual(sizes);
    expect(found.every(({ count, inBuckets }) => count === inBuckets)).toBe(true);

    const texts: LabelledText[] = words.map((text, i) => ({ text, label: i % 2 ? "good" : "bad" }));
    const task = classification({ labels: ["bad", "good"] });
    const options = { task, train: texts, dev: texts, batch: 2, epochs: 4, checkpointEvery: 1, histogramEvery: 2 };
    const session = finetune(pre, { ...options, lora: 2, into: await Run.create(path) });
    for await (const event of session) if (event.type === "step" && event.step === 5) break;
    await session.result;
    // With adapters only these and the head are trained.
    expect(histogramsOf(path).every(({ tag }) => /lora|classifier/.test(tag))).toBe(true);
    expect(stepsOf(histogramsOf(path))).toEqual([4]);
    await (await Run.open(path, "finetune")).resume({ train: texts, dev: texts }).result;
    expect(stepsOf(histogramsOf(path))).toEqual([4, 8]);
  }, 60_000);

  it("show those of a language model, and none unless they are asked for", async () => {
    const sizes = { ...data, width: 16, heads: 2, depth: 1, length: 8, batch: 2, steps: 2, evaluateEvery: 1 };
    const train = async (name: string, histogramEvery: number | null) => {
      const settings = languageSettings.resolve([{ source: "test", values: { ...sizes, histogramEvery } }]);
      const job = await openJob(settings);
      await perform(job, { into: await Run.create(join(folder, name)) }).result;
      return histogramsOf(join(folder, name));
    };
    const found = await train("language", 1);
    expect(stepsOf(found)).toEqual([1, 2]);
    expect(found.some(({ tag }) => tag.startsWith("weights/blocks.0"))).toBe(true);
    expect(await train("without", null)).toEqual([]);
  }, 60_000);
});
