/** The real TensorBoard reads what a run folder writes; and an own reader checks every byte, where Python is absent. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodePng } from "../src/format/png.ts";
import { ProtoReader } from "../src/format/protobuf.ts";
import { readRecords } from "../src/format/tfrecord.ts";
import { RunFolder } from "../src/runs/folder.ts";
import { eventFiles } from "../src/runs/tensorboard.ts";

const root = mkdtempSync(join(tmpdir(), "layerwise-tensorboard-"));
const boards = join(root, "run/tensorboard");
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Tag → step → value, per run of TensorBoard. */
type Scalars = Record<string, Record<string, [number, number][]>>;

const picture = { width: 3, height: 2, channels: 3, data: Uint8Array.from({ length: 18 }, (_, i) => i * 14) } as const;
const losses = [5.25, 4.5, 3.75, 3.125];

/** Trains four steps, is cut back to two, and trains on: each step must be there once. */
beforeAll(async () => {
  const path = join(root, "run");
  let run = await RunFolder.create(path, { config: "width: 8\n", environment: {} });
  const trainFrom = (first: number, last: number) => {
    for (let step = first; step <= last; step++) {
      const loss = losses[step - 1]!;
      const rates = { learningRate: 0.5 ** step, gradientNorm: step / 4, tokensPerSecond: 1000 * step };
      run.append({ type: "step", step, loss, epoch: 0, ...rates, scalars: { temperature: 1 / step } });
      const figures = { loss: 2, perplexity: 7.5, perplexityPerWord: 20, bitsPerByte: 1.25, tokens: 64 };
      if (step % 2 === 0) run.append({ type: "evaluation", step, split: "valid", best: false, ...figures });
    }
  };
  trainFrom(1, 4);
  run.show("train", 2, [{ tag: "attention", picture, png: encodePng(picture) }]);
  run.show("train", 3, [{ tag: "attention", picture, png: encodePng(picture) }]);
  run.close();
  run = await RunFolder.open(path);
  await run.cutBack(2);
  trainFrom(3, 4);
  run.show("train", 4, [
    { tag: "weights", histogram: Float32Array.from({ length: 100 }, (_, i) => i / 10) },
    { tag: "attention", picture, png: encodePng(picture) },
  ]);
  run.close();
});

const expected: Scalars = {
  train: {
    loss: losses.map((loss, i) => [i + 1, loss]),
    perplexity: losses.map((loss, i) => [i + 1, Math.fround(Math.exp(loss))]),
    learning_rate: losses.map((_, i) => [i + 1, 0.5 ** (i + 1)]),
    gradient_norm: losses.map((_, i) => [i + 1, (i + 1) / 4]),
    tokens_per_second: losses.map((_, i) => [i + 1, 1000 * (i + 1)]),
    temperature: losses.map((_, i) => [i + 1, Math.fround(1 / (i + 1))]),
  },
  valid: Object.fromEntries(
    Object.entries({ loss: 2, perplexity: 7.5, perplexity_per_word: 20, bits_per_byte: 1.25 }).map(([tag, value]) => [
      tag,
      [2, 4].map((step): [number, number] => [step, value]),
    ]),
  ),
};

describe("event files", () => {
  it("hold version, time, step and scalars in checked frames, each step once after a cut", () => {
    const found: Scalars = {};
    for (const file of eventFiles(boards)) {
      const run = file.slice(boards.length + 1).split(/[\\/]/)[0]!;
      const [version, ...events] = [...readRecords(readFileSync(file), file)].map((record) => readEvent(record, file));
      expect(version!.fileVersion).toBe("brain.Event:2");
      for (const { step, scalars } of events)
        for (const [tag, value] of scalars) {
          found[run] ??= {};
          found[run][tag] ??= [];
          found[run][tag].push([step, value]);
        }
    }
    expect(found).toEqual(expected);
  });

  it("hold pictures as PNG", () => {
    const bytes = Buffer.from(encodePng(picture));
    expect(bytes.subarray(1, 4).toString("latin1")).toBe("PNG");
    const at = bytes.indexOf("IDAT");
    const rows = inflateSync(bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at - 4)));
    expect([...rows]).toEqual([0, ...picture.data.subarray(0, 9), 0, ...picture.data.subarray(9)]);
    expect(() => encodePng({ ...picture, width: 4 })).toThrow("picture: expected 2·4·3 bytes, got 18");
  });
});

interface ReadEvent {
  fileVersion: string;
  step: number;
  scalars: [string, number][];
}

/** The fields of event.proto and summary.proto that scalars use. */
function readEvent(bytes: Uint8Array, source: string): ReadEvent {
  const event: ReadEvent = { fileVersion: "", step: 0, scalars: [] };
  const reader = new ProtoReader(bytes, source);
  while (!reader.done) {
    const { field, wire } = reader.tag();
    if (field === 1) expect(Math.abs(reader.double() - Date.now() / 1000)).toBeLessThan(60);
    else if (field === 2) event.step = reader.integer();
    else if (field === 3) event.fileVersion = reader.string();
    else if (field === 5) event.scalars = readScalars(reader.message());
    else reader.skip(wire);
  }
  return event;
}

function readScalars(summary: ProtoReader): [string, number][] {
  const scalars: [string, number][] = [];
  while (!summary.done) {
    expect(summary.tag().field).toBe(1);
    const value = summary.message();
    let tag = "";
    while (!value.done) {
      const { field, wire } = value.tag();
      if (field === 1) tag = value.string();
      else if (field === 2) scalars.push([tag, value.float()]);
      else value.skip(wire);
    }
  }
  return scalars;
}

const script = `
import json, sys
from tensorboard.backend.event_processing import event_accumulator, plugin_event_accumulator
from tensorboard.util import tensor_util
folder = sys.argv[1]
answer = {"scalars": {}, "tensors": {}}
for run in ("train", "valid"):
    board = event_accumulator.EventAccumulator(f"{folder}/{run}", size_guidance={"scalars": 0})
    board.Reload()
    answer["scalars"][run] = {t: [(s.step, s.value) for s in board.Scalars(t)] for t in board.Tags()["scalars"]}
    if run == "train":
        histogram = board.Histograms("weights")[0].histogram_value
        answer["histogram"] = [histogram.num, histogram.min, histogram.max, sum(histogram.bucket), histogram.sum]
        image = board.Images("attention")[-1]
        answer["imageSteps"] = [each.step for each in board.Images("attention")]
        answer["image"] = [image.width, image.height, list(image.encoded_image_string)]
    page = plugin_event_accumulator.EventAccumulator(f"{folder}/{run}", tensor_size_guidance={"scalars": 0})
    page.Reload()
    tags = page.PluginTagToContent("scalars")
    answer["tensors"][run] = {
        t: [(e.step, tensor_util.make_ndarray(e.tensor_proto).item()) for e in page.Tensors(t)] for t in tags
    }
print(json.dumps(answer))
`;

/** A Python with TensorBoard: LAYERWISE_PYTHON, python3, python. */
const python = [process.env.LAYERWISE_PYTHON, "python3", "python"].find(
  (each) => each && spawnSync(each, ["-c", "import tensorboard"]).status === 0,
);

describe.runIf(python)("the real TensorBoard", () => {
  it("reads scalars, histograms and pictures as they were written", () => {
    const { stdout, stderr } = spawnSync(python!, ["-c", script, boards], { encoding: "utf8" });
    expect(stdout, stderr).not.toBe("");
    const answer = JSON.parse(stdout);
    expect(answer.scalars).toEqual(expected);
    expect(answer.tensors).toEqual(expected); // as its web page gets them
    expect(answer.histogram.slice(0, 4)).toEqual([100, 0, Math.fround(9.9), 100]);
    expect(answer.histogram[4]).toBeCloseTo(495, 3);
    expect(answer.imageSteps).toEqual([2, 4]);
    expect(answer.image).toEqual([3, 2, [...encodePng(picture)]]);
  });
});
