import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { refused } from "../../test/refusals.ts";
import { zip } from "../../test/zip.ts";
import { LayerwiseError } from "../base/errors.ts";
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

describe("damaged PyTorch files", () => {
  const whole = fixture("act/pytorch_model.bin");
  const tensorsIn = (bytes: Uint8Array) => {
    try {
      return readTorch(bytes, "x.bin");
    } catch (error) {
      expect(error).toBeInstanceOf(LayerwiseError);
      return undefined;
    }
  };

  it("never give other numbers: a flipped bit is refused, or lies where no number and no name does", () => {
    const sound = readTorch(whole, "x.bin");
    for (let at = 0; at < whole.length; at += 13) {
      const hurt = Uint8Array.from(whole);
      hurt[at]! ^= 1 << (at % 8);
      const got = tensorsIn(hurt);
      if (got) expect(got).toEqual(sound);
    }
  });

  it("share what tensors share, and count what is copied", () => {
    const file = (stride: number) =>
      zip({ "m/data.pkl": bytes(`}(${windows(40, stride)}u.`), "m/data/0": new Uint8Array(4 * 1000 * 1000).fill(1) });
    const tensors = readTorch(file(1), "x.bin", { maxBytes: 5e6 });
    expect(tensors.get("39")!.data.buffer).toBe(tensors.get("0")!.data.buffer);
    expect(() => readTorch(file(0), "x.bin", { maxBytes: 5e6 })).toThrow(/x\.bin: expected content .* raise maxBytes/);
  });
});

/** Names and tensors of a million numbers in one storage: in order, or transposed. */
function windows(count: number, stride: number): string {
  const million = "J\x40\x42\x0f\0";
  const [shape, strides] =
    stride === 1 ? [`${million}\x85`, "K\x01\x85"] : ["K\x02J\x20\xa1\x07\0\x86", "K\x01K\x02\x86"];
  const storage = `(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpu${million}tQ`;
  const name = (i: number) => `X${String.fromCharCode(`${i}`.length)}\0\0\0${i}`;
  const tensor = `ctorch._utils\n_rebuild_tensor_v2\n(${storage}K\0${shape}${strides}tR`;
  return Array.from({ length: count }, (_, i) => name(i) + tensor).join("");
}

describe("pickles", () => {
  const read = (text: string) => readPickle(bytes(text), "p", { globals: { "a.b": (...values: number[]) => values } });

  it("become maps, arrays and plain values", () => {
    // {"x": (1, None, True)}
    expect(read("\x80\x02}X\x01\0\0\0xK\x01N\x88\x87s.")).toEqual(new Map([["x", [1, null, true]]]));
    expect(read("\x80\x02ca\nb\nK\x07\x85R.")).toEqual([7]);
    expect(read("\x80\x04\x8a\x01\xff.")).toBe(-1);
    expect(read("J\xfe\xff\xff\xff.")).toBe(-2);
  });

  refused(read, [
    ["cos\nsystem\n.", "expected only a.b, got os.system"],
    ["\x8c\x02os\x8c\x06system\x93.", "expected only a.b, got os.system"],
    ["c__proto__\nx\n.", "expected only a.b, got __proto__.x"],
    ["ios\nsystem\n.", "opcode 0x69 at offset 0"],
    ["K\x01K\x02R.", "expected a known constructor to call, got 1"],
    ["ca\nb\nK\x02R.", "expected at most 16 arguments, got 2"],
    ["}(K\x01u.", "expected a value for every key, got 1 keys and values"],
    ["K\x01(0.", "expected a value on the stack, got none"],
    ["]]\x93.", "expected the name of a global, got a list of 0 and a list of 0"],
    ["X\xff\xff\xff\x7fx", "the end of the pickle"],
    ["R", "expected a value on the stack, got none"],
    ["h\x05.", "expected memory 5, got nothing stored there"],
    ["K\x01", "the end of the pickle"],
  ]);

  it("take time and memory in proportion to their length", () => {
    const started = performance.now();
    expect(() => read("(".repeat(150_000) + "t".repeat(149_999))).toThrow("the end of the pickle");
    expect(() => read(`(${"(t".repeat(150_000)}`)).toThrow("the end of the pickle");
    expect(() => read("}".repeat(1e6))).toThrow(/p: expected content that takes at most .* raise maxBytes/);
    // Lists that hold each other: writing them out would take 2^60 steps.
    expect(() => read(`]${"q\0]h\0ah\0a".repeat(60)}K\x01R.`)).toThrow("constructor to call, got a list of 2");
    expect(performance.now() - started).toBeLessThan(2000); // 0.2 s alone; the quadratic reader took minutes
  });
});
