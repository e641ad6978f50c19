import { describe, expect, it } from "vitest";
import { depthReport } from "./depth-report.ts";
import { languageModel } from "./language.ts";

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
});
