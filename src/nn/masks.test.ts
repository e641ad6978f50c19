import { describe, expect, it } from "vitest";
import { runOnce } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { add, input, softmax, type Tensor } from "../graph/index.ts";
import { additiveMask, causalMask, HIDDEN, keyMask, padMask, segmentMask, sentenceMask } from "./masks.ts";

const values = async (tensor: Tensor, feeds = {}) => [
  ...(await runOnce(referenceEngine(), { y: tensor }, feeds)).y!.data,
];

/** `x` where a key may be seen, `.` where it is hidden. */
async function seenIn(mask: Tensor, feeds = {}): Promise<string> {
  const found = await values(mask, feeds);
  expect(found.every((value) => value === 0 || value === HIDDEN)).toBe(true);
  return found.map((value) => (value === HIDDEN ? "." : "x")).join("");
}

describe("a score of what is hidden", () => {
  const weights = (mask: readonly number[]) =>
    values(softmax(add(input("scores", [3]), input("mask", [3]))), {
      scores: Float32Array.of(20, -9, 2),
      mask: Float32Array.from(mask),
    });

  it("leaves no weight at all", async () => {
    expect(await weights([HIDDEN, 0, HIDDEN])).toEqual([0, 1, 0]);
    expect(await weights([2 * HIDDEN, 0, HIDDEN])).toEqual([0, 1, 0]);
  });

  it("leaves weights, not NaN, where everything is hidden", async () => {
    const [a, b, c] = await weights([HIDDEN, HIDDEN, HIDDEN]);
    expect(a! + b! + c!).toBeCloseTo(1, 6);
  });
});

describe("the causal mask", () => {
  it("hides later positions, at a known and at a named length", async () => {
    expect(await seenIn(causalMask(3))).toBe("x..xx.xxx");
    const length = { ids: { data: new Float32Array(3), shape: [3] } };
    const named = add(causalMask("T"), input("ids", ["T"]));
    expect(await seenIn(named, length)).toBe("x..xx.xxx");
  });

  it("after P tokens lets each look back at all of them", async () => {
    expect(await seenIn(causalMask(2, 3))).toBe("xxxx.xxxxx");
  });
});

describe("the mask of a segment", () => {
  const seen = async (options: { memory: number; sameLength?: boolean; missing?: Tensor }, feeds = {}) => {
    return seenIn(segmentMask({ width: 1, length: 2, ...options }), feeds);
  };

  it("hides later keys only", async () => {
    expect(await seen({ memory: 2 })).toBe("xxx.xxxx");
  });

  it("lets every query see as many keys as there is memory, where lengths are to be the same", async () => {
    expect(await seen({ memory: 2, sameLength: true })).toBe(".xx...xx");
  });

  it("hides memory that is not there yet", async () => {
    const missing = input("missing", [], "int");
    expect(await seen({ memory: 2, missing }, { missing: Int32Array.of(1) })).toBe(".xx..xxx");
  });

  it("for pads hides keys of the segment, never memory", async () => {
    const tokens = input("tokens", [1, 3], "int");
    expect(await seenIn(padMask(tokens, 2), { tokens: Int32Array.of(5, 0, 0) })).toBe("xxx..");
  });
});

it("a mask of keys hides padding", async () => {
  const mask = input("mask", [1, 3], "int");
  expect(await seenIn(keyMask(mask), { mask: Int32Array.of(1, 1, 0) })).toBe("xx.");
});

it("a mask of sentences hides keys of others", async () => {
  const [queries, keys] = [input("queries", [1, 2], "int"), input("keys", [1, 3], "int")];
  const feeds = { queries: Int32Array.of(1, 2), keys: Int32Array.of(1, 2, 2) };
  expect(await seenIn(sentenceMask(queries, keys), feeds)).toBe("x...xx");
});

describe("masks given as booleans or numbers", () => {
  const dims = [2, 3, 4] as const;

  it("are nothing where there is none", () => {
    expect(additiveMask({}, ...dims)).toBeUndefined();
  });

  it("join: a key is hidden by either", async () => {
    const mask = input("mask", [3, 4]);
    const padding = input("padding", [2, 4], "bool");
    const both = additiveMask({ mask, padding }, ...dims)!;
    expect(both.shape).toEqual([2, 1, 3, 4]);
    const given = Float32Array.of(0, -Infinity, 0.5, 0, ...Array(8).fill(0));
    const found = await values(both, { mask: given, padding: Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0) });
    expect(found.slice(0, 4)).toEqual([HIDDEN, HIDDEN, 0.5, 0]);
    expect(found.slice(12, 16)).toEqual([0, HIDDEN, 0.5, 0]);
  });
});
