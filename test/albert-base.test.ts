import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Command } from "../src/cli/command.ts";
import { commands } from "../src/cli/commands.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { type TensorRecord, writeSafetensors } from "../src/format/safetensors.ts";
import { describedAlbert } from "../src/model/albert/description.ts";
import { albertObjective } from "../src/model/albert/heads.ts";
import { huggingFaceConfig, saveAlbert } from "../src/model/albert/weights.ts";
import { countParameters } from "../src/model/report.ts";
import { initialise } from "../src/nn/index.ts";
import { openAlbertRun } from "../src/tasks/pretrain/albert-run.ts";
import { lamb } from "../src/train/optimiser.ts";
import { TrainingStep } from "../src/train/step.ts";

const folder = mkdtempSync(join(tmpdir(), "layerwise-base-"));
beforeAll(() => {
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, "write").mockReturnValue(true);
});
afterAll(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const base = { vocabulary: 30000, embedding: 128, width: 768, heads: 12, hidden: 3072, depth: 24 };
const heads = { maskedLanguage: { predictions: 3 }, sentenceOrder: {} };

/** Writes what Hugging Face would, after `change`. */
function stored(
  name: string,
  sizes: typeof base,
  change: (tensors: Map<string, TensorRecord>, config: Record<string, unknown>) => void = () => {},
): string {
  const described = describedAlbert({ model: { ...sizes, halting: { ponder: 2.5e-4, haltAtCap: false } }, heads });
  const saved = saveAlbert(described.model, described.parameters, initialise(described.parameters, 1));
  const tensors = new Map<string, TensorRecord>(saved);
  const config = huggingFaceConfig(described.model.options);
  change(tensors, config);
  const file = join(folder, `${name}.safetensors`);
  writeFileSync(file, writeSafetensors(tensors));
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(config));
  return file;
}

async function imported(file: string): Promise<string> {
  const program = new Command().exitOverride();
  (await commands.import!.load())(program);
  const [config, out] = [file.replace("safetensors", "json"), file.replace(".safetensors", "")];
  await program.parseAsync(["import", file, "--config", config, "--out", out], { from: "user" });
  return out;
}

describe("an ALBERT of base size", () => {
  it("loads, and takes a training step within memory", { timeout: 180_000 }, async () => {
    const run = await openAlbertRun(await imported(stored("base", base)));
    expect(countParameters(run.model.parameters)).toBe(11_684_353); // as the published files hold
    expect(countParameters(run.parameters) - 11_684_353).toBe(130_226);
    const [batch, length] = [2, 16];
    const { model, parameters } = run;
    const engine = await ortEngine();
    const described = describedAlbert({ model: run.config.model, heads });
    const objective = albertObjective(described.model, Object.values(described.heads), {
      batch,
      length,
      training: true,
    });
    const values = new Map(parameters.map(({ name, tensor }) => [name, run.weights.get(tensor)!]));
    const initial = new Map(described.parameters.map(({ name, tensor }) => [tensor, values.get(name)!]));
    const groups = [{ parameters: [...initial.keys()], optimiser: lamb({ weightDecay: 0.01 }) }];
    const step = await TrainingStep.create({ engine, ...objective, groups, initial, seed: 1 });
    const ids = Int32Array.from({ length: batch * length }, (_, i) => (i % length === 0 ? 2 : 5 + 97 * i));
    const { loss } = await step.run(
      {
        ...{ ids, mask: ids.map(() => 1), types: ids.map(() => 0), order: [0, 1] },
        ...{ maskedPositions: [1, 4, 9, 2, 5, 7], maskedLabels: [8, 9, 10, 11, 12, 13] },
        maskedWeights: [1, 1, 1, 1, 1, 0],
      },
      0.00176,
    );
    expect(loss).toBeGreaterThan(Math.log(30000) - 1);
    expect(loss).toBeLessThan(Math.log(30000) + 3);
    await step.release();
    expect(model.policy.depth).toBe(24);
    expect(process.memoryUsage().rss).toBeLessThan(4e9);
  });
});

describe("files that are no such model", () => {
  const small = { vocabulary: 40, embedding: 4, width: 8, heads: 2, hidden: 16, depth: 3 };
  const query = "albert.encoder.albert_layer.attention.query.weight";
  const wrong: TensorRecord = { dtype: "F32", shape: [8, 4], data: new Float32Array(32) };

  it.each([
    [
      "lacking",
      (tensors: Map<string, TensorRecord>) => tensors.delete(query),
      /lacking\.safetensors: .*attention\.query\.weight \[8,8\], got none/,
    ],
    [
      "extra",
      (tensors: Map<string, TensorRecord>) => tensors.set("albert.pooler.scale", wrong),
      /extra\.safetensors: .*got pooler\.scale/,
    ],
    [
      "misshapen",
      (tensors: Map<string, TensorRecord>) => tensors.set(query, wrong),
      /misshapen\.safetensors: .*attention\.query\.weight: expected numbers of shape \[8,8\], got \[8,4\]/,
    ],
  ])("are refused by file and tensor: %s", async (name, change, message) => {
    await expect(imported(stored(name, small, (tensors) => void change(tensors)))).rejects.toThrow(message);
  });

  it.each([
    [
      "relative",
      { position_embedding_type: "relative_key" },
      'position_embedding_type: expected "absolute", got "relative_key"',
    ],
    ["activation", { hidden_act: "mish" }, "hidden_act: expected one of relu, relu2, silu, tanh, gelu, gelu_new"],
  ])("are refused by config and key: %s", async (name, keys, message) => {
    const file = stored(name, small, (_, config) => void Object.assign(config, keys));
    await expect(imported(file)).rejects.toThrow(`${name}.json / ${message}`);
  });
});
