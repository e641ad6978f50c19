import { describe, expect, it } from "vitest";
import { Run } from "../tasks/run.ts";
import { parseProbe } from "../text/probing/probing.ts";

/** The first word decides; half of the sentences are learnt from. */
const lines = (masked: boolean) =>
  Array.from({ length: 48 }, (_, i) => {
    const label = i % 2 ? "many" : "one";
    const words = `${i % 2 ? "the" : "to"} ${["went", "came", "sat"][i % 3]} to the ${["house", "day", "man"][(i >> 1) % 3]}`;
    return `${i < 32 ? "tr" : "te"}\t${label}\t${words}${masked ? "\t0" : ""}`;
  });

describe("probing classifiers", () => {
  it("read what words say out of frozen states, and nothing of a word that is hidden from the embeddings", async () => {
    const run = await Run.open("fixtures/runs/albert", "pretrain");
    const open = await run.probeByDepth(parseProbe(lines(false).join("\n")));
    expect(open).toMatchObject({ classes: ["many", "one"], trained: 32, judged: 16, commonest: 0.5 });
    expect(open.depths.map(({ depth }) => depth)).toEqual([0, 1, 2, 3]);
    expect(open.depths[0]!.accuracy).toBe(1);
    const hidden = await run.probeByDepth(parseProbe(lines(true).join("\n")));
    // The state of a hidden word is the same in every sentence before the first iteration.
    expect(hidden.depths[0]!.accuracy).toBe(0.5);
    expect(await run.probeByDepth(parseProbe(lines(false).join("\n")))).toEqual(open);
  });

  it("refuse sentences of one label, or of one split", async () => {
    const run = await Run.open("fixtures/runs/albert", "pretrain");
    const same = parseProbe(lines(false).slice(0, 32).join("\n"));
    await expect(run.probeByDepth(same)).rejects.toThrow(/some of split tr and some of va or te, got 2 labels, 32 of/);
  });
});
