import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readPickle } from "./pickle.ts";
import { readTorch } from "./torch.ts";

const fixture = (name: string) => readFileSync(new URL(`../../fixtures/albert/${name}`, import.meta.url));
const bytes = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

describe("PyTorch files", () => {
  it("give the tensors that torch.save wrote", () => {
    const tensors = readTorch(fixture("act/pytorch_model.bin"), "act.bin");
    expect(tensors.size).toBe(28);
    const words = tensors.get("embeddings.word_embeddings.weight")!;
    expect([words.dtype, words.shape, words.data.length]).toEqual(["F32", [30, 4], 120]);
    expect(words.data.some((value) => Number(value) !== 0)).toBe(true);
    expect(tensors.get("embeddings.position_ids")).toMatchObject({ dtype: "I64", shape: [1, 12] });
    expect(Number(tensors.get("embeddings.position_ids")!.data[11])).toBe(11);
  });

  it("that name a command are refused, and the command does not run", () => {
    expect(() => readTorch(fixture("malicious.bin"), "malicious.bin")).toThrow(
      /malicious\.bin: malicious\/data\.pkl: expected only collections\.OrderedDict, .*, got posix\.system; .* do not trust it/,
    );
  });

  it("that are cut short or of another kind are refused", () => {
    const whole = fixture("act/pytorch_model.bin");
    expect(() => readTorch(whole.subarray(0, 2000), "cut.bin")).toThrow(
      "cut.bin: expected a PyTorch file (a zip archive), got other or damaged bytes",
    );
    expect(() => readTorch(new Uint8Array(0), "empty.bin")).toThrow("empty.bin: expected a PyTorch file");
  });
});

describe("pickles", () => {
  const read = (text: string) => readPickle(bytes(text), "p", { globals: { "a.b": (...values: number[]) => values } });

  it("become maps, arrays and plain values", () => {
    // {"x": (1, None, True)}
    expect(read("\x80\x02}X\x01\0\0\0xK\x01N\x88\x87s.")).toEqual(new Map([["x", [1, null, true]]]));
    expect(read("\x80\x02ca\nb\nK\x07\x85R.")).toEqual([7]);
    expect(read("\x80\x04\x8a\x01\xff.")).toBe(-1);
    expect(read("J\xfe\xff\xff\xff.")).toBe(-2);
  });

  it.each([
    ["cos\nsystem\n.", "expected only a.b, got os.system"],
    ["\x8c\x02os\x8c\x06system\x93.", "expected only a.b, got os.system"],
    ["c__proto__\nx\n.", "expected only a.b, got __proto__.x"],
    ["ios\nsystem\n.", "opcode 0x69 at offset 0"],
    ["K\x01K\x02R.", "expected a known constructor to call, got 1"],
    ["X\xff\xff\xff\x7fx", "the end of the pickle"],
    ["R", "expected a value on the stack, got none"],
    ["h\x05.", "expected memory 5, got nothing stored there"],
    ["K\x01", "the end of the pickle"],
  ])("refuses %j", (text, message) => {
    expect(() => read(text)).toThrow(message);
  });
});
