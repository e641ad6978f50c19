import { describe, expect, it } from "vitest";
import { encoderDepthReport } from "./albert/depth-report.ts";
import { depthReportTable } from "./depth-report.ts";
import { depthReport } from "./language/depth-report.ts";
import { languageModel } from "./language/language.ts";
import { networkDepthReport } from "./par/depth-report.ts";
import { translationDepthReport } from "./seq2seq/depth-report.ts";

const sizes = { width: 16, heads: 2, hidden: 32, length: 8 };
const report = (text: string) => depthReport(text, sizes);

describe("figures of a written depth", () => {
  it("count shared blocks once, and run them as often as they are written", () => {
    const [own, shared] = [report("6"), report("2*3")];
    expect(shared.parameters).toBe(own.parameters / 3);
    expect(shared.flopsPerToken).toBe(own.flopsPerToken);
    expect(shared.keyValueBytesPerToken).toBe(6 * 2 * 16 * 4);
    const { policy } = languageModel({ vocabulary: 9, ...sizes, depth: "2*3" });
    expect([shared.unique, shared.executedDepth]).toEqual([policy.unique, policy.depth]);
  });

  it("have the mean of drawn loops beside the most, and none where tokens decide", () => {
    const { parts, ...all } = report("1 + 1 loop(8, mean=2)");
    const block = report("1").flopsPerToken;
    expect([all.flopsPerToken, all.meanFlopsPerToken]).toEqual([9 * block, 3 * block]);
    expect(all.keyValueBytesPerToken).toBe(9 * 2 * 16 * 4);
    expect(report("1 + 1*3 halt").meanFlopsPerToken).toBeNull();
    expect(parts.map(({ depth }) => depth)).toEqual(["1", "1 loop(8, mean=2)"]);
  });

  it("keep keys and values for attention only", () => {
    expect(report("(sff)x2").keyValueBytesPerToken).toBe(2 * 2 * 16 * 4);
  });

  it("keep what the strategy of a policy keeps: a cache per block, or one number more of how deep a token ran", () => {
    const kept = (keys: string) => report(`2*3 halt(keys=${keys})`).keyValueBytesPerToken;
    expect([kept("own"), kept("first")]).toEqual([6 * 2 * 16 * 4, 2 * 2 * 16 * 4]);
    expect(kept("running")).toBe(6 * 2 * 16 * 4 + 2 * 4);
  });
});

describe("figures of other models", () => {
  it("of an encoder keep no keys and values", () => {
    const { parts, ...all } = encoderDepthReport("1 + 1*3 halt", sizes);
    expect([all.unique, all.executedDepth, all.keyValueBytesPerToken]).toEqual([2, 4, null]);
    const block = encoderDepthReport("1", sizes);
    expect(parts[0]).toMatchObject({ parameters: block.parameters, flopsPerToken: block.flopsPerToken });
    expect(all.flopsPerToken).toBeGreaterThan(4 * block.flopsPerToken); // halting units, too
    expect(depthReportTable({ parts, ...all })).toMatch(/all +2 +4 .* tokens decide +–/);
  });

  it("of both sides of a translation count what a decoder keeps of the source", () => {
    const { encoder, decoder } = translationDepthReport({ encoder: "2*2", decoder: "1*3 relax(2)" }, sizes);
    expect([encoder.unique, encoder.executedDepth, encoder.keyValueBytesPerToken]).toEqual([2, 4, null]);
    const pair = 2 * 16 * 4;
    expect([decoder.keyValueBytesPerToken, decoder.sourceBytesPerToken]).toEqual([3 * pair, 3 * pair]);
    const { decoder: shared } = translationDepthReport({ encoder: "1", decoder: "1*3" }, sizes);
    expect(shared.sourceBytesPerToken).toBe(pair);
    expect(decoder.flopsPerToken).toBeGreaterThan(encoder.flopsPerToken / 4);
  });

  it("of a Transformer-XL count letters, and what they look back at", () => {
    const memory = (steps: number) => networkDepthReport("(sf)x2*3 + 1", { ...sizes, memory: steps });
    const { unique, executedDepth, plan, keyValueBytesPerToken, parts } = memory(4);
    expect([unique, executedDepth, plan]).toEqual([6, 14, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5]]);
    expect(keyValueBytesPerToken).toBe(7 * 2 * 16 * 4);
    expect(parts.map((part) => part.executedDepth)).toEqual([12, 2]);
    expect(memory(8).flopsPerToken).toBeGreaterThan(memory(4).flopsPerToken);
  });

  it("refuse what the models refuse", () => {
    expect(() => encoderDepthReport("1*4 exits(gate)", sizes)).toThrow("an encoder has no head");
    expect(() => translationDepthReport({ encoder: "(sf)x2", decoder: "1" }, sizes)).toThrow("expected whole layers");
    expect(() => networkDepthReport("1 + (sf)x2*3 halt", { ...sizes, memory: 4 })).toThrow(
      "every depth of a network with memory remembers the states of all tokens, got halt",
    );
  });
});
