import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder, printedBy } from "../../../test/command.ts";
import { readSafetensors } from "../../format/safetensors.ts";
import { addDepth } from "./depth.ts";

const file = join(ownFolder("attentions"), "a.safetensors");
const depth = (run: string, ...args: string[]) => printedBy(addDepth, "depth", `fixtures/runs/${run}`, ...args);

describe("layerwise depth --attentions", () => {
  it("writes probabilities of every iteration and head, with the pieces", async () => {
    const printed = await depth("albert", "--text", "the cat sat", "--attentions", file, "--json");
    const { tokens } = JSON.parse(printed);
    const { tensors, metadata } = readSafetensors(readFileSync(file));
    const pieces = tokens.map(({ piece }: { piece: string }) => piece);
    expect([metadata.text, JSON.parse(metadata.pieces!)]).toEqual(["the cat sat", pieces]);
    const depths: number[] = tokens.map((token: { depth: number }) => token.depth);
    expect([...(tensors.get("depths")!.data as Float32Array)]).toEqual(depths);
    const { shape, data } = tensors.get("attentions")!;
    expect(shape).toEqual([Math.max(...depths), expect.any(Number), pieces.length, pieces.length]);
    const row = (data as Float32Array).subarray(0, pieces.length);
    expect(row.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 5);
  });

  it("refuses other files, other questions and other models, and writes nothing", async () => {
    const other = join(file, "..", "b.safetensors");
    await expect(depth("albert", "--attentions", other)).rejects.toThrow(
      "--attentions: expected --text TEXT beside it",
    );
    await expect(depth("albert", "--text", "a", "--attentions", "a.npy")).rejects.toThrow("ends with .safetensors");
    const language = depth("language", "--text", "a", "--attentions", other);
    await expect(language).rejects.toThrow("--attentions: expected an ALBERT's run, got one of kind language");
    expect(existsSync(other)).toBe(false);
  });
});
