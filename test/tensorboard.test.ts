/** The real TensorBoard reads what a run folder writes; and an own reader checks every byte, where Python is absent. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodePng } from "../src/format/png.ts";
import { ProtoReader } from "../src/format/protobuf.ts";
import { readRecords, writeRecords } from "../src/format/tfrecord.ts";
import { RunFolder } from "../src/runs/folder.ts";
import { encodeSummary, eventFiles } from "../src/runs/tensorboard.ts";

const root = mkdtempSync(join(tmpdir(), "layerwise-tensorboard-"));
const boards = join(root, "run/tensorboard");
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Tag → step and value. */
type Scalars = Record<string, [number, number][]>;

const picture = { width: 3, height: 2, channels: 3, data: Uint8Array.from({ length: 18 }, (_, i) => i * 14) } as const;
const config = "width: 8\nplan: cycle\ntied: true\nmodel:\n  heads: 2\nnothing: null\n";
const losses = [5.25, 4.5, 3.75, 3.125];

/** Trains four steps, is cut back to two, and trains on: each step must be there once. */
beforeAll(async () => {
  const path = join(root, "run");
  let run = await RunFolder.create(path, { config, environment: {} });
  run.show(0, [{ tag: "model", text: "| parameters | 8 |" }]);
  const choices = [{ names: ["attention", "feed-forward 64"], probabilities: [0.75, 0.25] }];
  const trainFrom = (first: number, last: number) => {
    for (let step = first; step <= last; step++) {
      const loss = losses[step - 1]!;
      const rates = { learningRate: 0.5 ** step, gradientNorm: step / 4, tokensPerSecond: 1000 * step };
      run.append({ type: "step", step, loss, epoch: 0, ...rates, scalars: { temperature: 1 / step }, choices });
      const figures = { loss: 2, perplexity: 7.5, perplexityPerWord: 20, bitsPerByte: 1.25, tokens: 64 };
      const scalars = { "depth/all": 3.5, accuracy: 0.5 };
      const evaluation = {
        type: "evaluation",
        step,
        split: "valid",
        best: false,
        ...figures,
        scalars,
        choices,
      } as const;
      if (step % 2 === 0) run.append(evaluation);
    }
  };
  trainFrom(1, 4);
  run.show(2, [{ tag: "attention", picture, png: encodePng(picture) }]);
  run.show(3, [{ tag: "attention", picture, png: encodePng(picture) }]);
  run.close();
  run = await RunFolder.open(path);
  await run.cutBack(2);
  trainFrom(3, 4);
  run.show(4, [
    { tag: "weights", histogram: Float32Array.from({ length: 100 }, (_, i) => i / 10) },
    { tag: "attention", picture, png: encodePng(picture) },
  ]);
  run.close();
});

const perStep = (value: (step: number) => number) =>
  losses.map((_, i): [number, number] => [i + 1, Math.fround(value(i + 1))]);
const evaluated = (value: number) => [2, 4].map((step): [number, number] => [step, value]);
const expected: Scalars = {
  "loss/train": perStep((step) => losses[step - 1]!),
  "perplexity/train": perStep((step) => Math.exp(losses[step - 1]!)),
  "optimiser/learning_rate": perStep((step) => 0.5 ** step),
  "optimiser/gradient_norm": perStep((step) => step / 4),
  "speed/tokens_per_second": perStep((step) => 1000 * step),
  "search/temperature": perStep((step) => 1 / step),
  "pi/block_1/attention": perStep(() => 0.75),
  "pi/block_1/feed-forward_64": perStep(() => 0.25),
  "loss/valid": evaluated(2),
  "perplexity/valid": evaluated(7.5),
  "perplexity_per_word/valid": evaluated(20),
  "bits_per_byte/valid": evaluated(1.25),
  "depth/mean": evaluated(3.5),
  "accuracy/valid": evaluated(0.5),
};

describe("event files", () => {
  it("hold version, time, step and scalars in checked frames, each step once after a cut", () => {
    const found: Scalars = {};
    const files = eventFiles(boards);
    expect(files).toHaveLength(1);
    for (const file of files) {
      const [version, ...events] = [...readRecords(readFileSync(file), file)].map((record) => readEvent(record, file));
      expect(version!.fileVersion).toBe("brain.Event:2");
      for (const { step, scalars } of events)
        for (const [tag, value] of scalars) {
          found[tag] ??= [];
          found[tag].push([step, value]);
        }
    }
    expect(found).toEqual(expected);
  });

  it("of an older version, with a folder per split, become one with the present tags when the run goes on", async () => {
    const path = join(root, "old");
    const run = await RunFolder.create(path, { config, environment: {} });
    run.append({ type: "step", step: 1, loss: 2, learningRate: 1, gradientNorm: 1, tokensPerSecond: 1, epoch: 0 });
    run.flush();
    const old = join(path, "tensorboard", "valid");
    mkdirSync(old);
    const drawn = encodeSummary({ step: 1, timeMs: Date.now() }, [{ tag: "pi", picture, png: encodePng(picture) }]);
    const figure = encodeSummary({ step: 1, timeMs: Date.now() }, [{ tag: "loss", scalar: 2 }]);
    writeFileSync(join(old, "events.out.tfevents.1.host.1.0"), writeRecords([drawn, figure]));
    await run.cutBack(1);
    run.close();
    expect(readdirSync(join(path, "tensorboard"))).toHaveLength(1); // and no folder
    const text = readFileSync(eventFiles(join(path, "tensorboard"))[0]!, "latin1");
    expect(text).toContain("search/pi");
    expect(text.match(/loss\/train/g)).toHaveLength(2); // the step's, and the table's
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
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util import tensor_util
from google.protobuf import json_format
folder = sys.argv[1]
board = event_accumulator.EventAccumulator(folder, size_guidance={"scalars": 0})
board.Reload()
histogram = board.Histograms("weights")[0].histogram_value
image = board.Images("attention")[-1]
page = plugin_event_accumulator.EventAccumulator(folder, tensor_size_guidance={"scalars": 0})
page.Reload()
hparams = {}
for tag, content in page.PluginTagToContent("hparams").items():
    data = plugin_data_pb2.HParamsPluginData.FromString(content)
    hparams[tag] = json_format.MessageToDict(data)
print(json.dumps({
    "scalars": {t: [(s.step, s.value) for s in board.Scalars(t)] for t in board.Tags()["scalars"]},
    "histogram": [histogram.num, histogram.min, histogram.max, sum(histogram.bucket), histogram.sum],
    "imageSteps": [each.step for each in board.Images("attention")],
    "image": [image.width, image.height, list(image.encoded_image_string)],
    "tensors": {
        t: [(e.step, tensor_util.make_ndarray(e.tensor_proto).item()) for e in page.Tensors(t)]
        for t in page.PluginTagToContent("scalars")
    },
    "texts": {t: tensor_util.make_ndarray(page.Tensors(t)[0].tensor_proto).item().decode() for t in page.PluginTagToContent("text")},
    "hparams": hparams,
}))
`;

/** A Python with TensorBoard: LAYERWISE_PYTHON, python3, python. */
const python = [process.env.LAYERWISE_PYTHON, "python3", "python"].find(
  (each) => each && spawnSync(each, ["-c", "import tensorboard"]).status === 0,
);

describe.runIf(python)("the real TensorBoard", () => {
  it("reads scalars, histograms, pictures, texts and the table of settings as they were written", () => {
    const { stdout, stderr } = spawnSync(python!, ["-c", script, boards], { encoding: "utf8" });
    expect(stdout, stderr).not.toBe("");
    const answer = JSON.parse(stdout);
    expect(answer.scalars).toEqual(expected);
    expect(answer.tensors).toEqual(expected); // as its web page gets them
    expect(answer.histogram.slice(0, 4)).toEqual([100, 0, Math.fround(9.9), 100]);
    expect(answer.histogram[4]).toBeCloseTo(495, 3);
    expect(answer.imageSteps).toEqual([2, 4]);
    expect(answer.image).toEqual([3, 2, [...encodePng(picture)]]);
    expect(answer.texts).toEqual({ settings: `\`\`\`yaml\n${config.trimEnd()}\n\`\`\``, model: "| parameters | 8 |" });
    expect(answer.hparams["_hparams_/session_start_info"].sessionStartInfo.hparams).toEqual({
      width: 8,
      plan: "cycle",
      tied: true,
      "model.heads": 2,
    });
    const { hparamInfos, metricInfos } = answer.hparams["_hparams_/experiment"].experiment;
    expect(hparamInfos.map(({ name, type }: { name: string; type: string }) => `${name} ${type}`)).toEqual([
      "width DATA_TYPE_FLOAT64",
      "plan DATA_TYPE_STRING",
      "tied DATA_TYPE_BOOL",
      "model.heads DATA_TYPE_FLOAT64",
    ]);
    expect(metricInfos[0]).toEqual({ name: { tag: "loss/valid" } });
  });
});
