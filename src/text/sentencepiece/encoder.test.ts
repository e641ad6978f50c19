import { describe, expect, it } from "vitest";
import { difficultLines } from "../../../test/tokenizer.lines.ts";
import { ENGLISH, smallModel } from "../../../test/tokenizer.models.ts";
import { Encoder } from "./encoder.ts";
import type { Model } from "./model.ts";
import { encoderParts, normaliserOf } from "./tokenizer.ts";

function encoders(model: Model): { cached: Encoder; whole: Encoder } {
  const parts = () => encoderParts(model, normaliserOf(model, "test"), "0.2.2");
  return { cached: new Encoder(parts()), whole: new Encoder({ ...parts(), wordwise: false }) };
}

/** Letters in fair supply, so that nothing ties by accident only. */
const LETTERS = Object.fromEntries([..."▁abcdefghijklmnopqrstuvwxyzTHE0123456789.,@-"].map((c, i) => [c, -5 - i / 7]));

/** Equality of long arrays, without a report of every element. */
function expectSame(a: Int32Array, b: Int32Array): void {
  expect(Buffer.compare(Buffer.from(a.buffer), Buffer.from(b.buffer))).toBe(0);
}

describe("the word cache", () => {
  it("changes no result on difficult text", () => {
    const { cached, whole } = encoders(smallModel({ ...LETTERS, ...ENGLISH }, { symbols: ["@-@"] }));
    for (const line of difficultLines(1500, 11)) expect(cached.encode(line)).toEqual(whole.encode(line));
    expect(cached.cachedWords).toBeGreaterThan(500);
    expect(whole.cachedWords).toBe(0);
  });

  it("changes no result where segmentations tie and sums are long", () => {
    const model = smallModel({ "▁": -2.1, a: -3.3, aa: -5.7, aaa: -8.3, b: -3.3, ab: -5.9, ba: -5.9, "▁a": -5.2 });
    const { cached, whole } = encoders(model);
    const words = ["a", "aa", "aaaa", "abab", "baab", "aaaaaaa", "bbb", "aba"];
    const line = Array.from({ length: 4000 }, (_, i) => words[(i * i + (i >> 3)) % words.length]).join(" ");
    for (let length = 100; length < line.length; length += 700) {
      expectSame(cached.encode(line.slice(0, length)), whole.encode(line.slice(0, length)));
    }
    expect(cached.cachedWords).toBeGreaterThan(0);
  });

  it("changes no result once it has overflowed", () => {
    const { cached, whole } = encoders(smallModel(LETTERS));
    const line = Array.from({ length: 70_000 }, (_, i) => `w${i.toString(36)}`).join(" ");
    expectSame(cached.encode(line), whole.encode(line));
    expectSame(cached.encode(line), whole.encode(line));
  });

  it("is not used where a piece reaches over a space", () => {
    const { cached } = encoders(smallModel({ ...LETTERS, "a▁b": -3 }));
    expect([...cached.encode("a b")]).toHaveLength(2);
    expect(cached.cachedWords).toBe(0);
  });
});

describe("an encoder", () => {
  it("encodes millions of characters in one line", () => {
    const { cached } = encoders(smallModel(ENGLISH));
    expect(cached.encode("a".repeat(1_000_000))).toHaveLength(1_000_001);
    expect(cached.encode("the cat ".repeat(150_000))).toHaveLength(300_000);
  });

  it("takes bytes that are not UTF-8", () => {
    const { cached } = encoders(smallModel({ ...ENGLISH, "\ufffd": -5 }));
    expect(cached.encodeBytes(Uint8Array.of(0xff, 0x61, 0xe2))).toEqual(cached.encode("\ufffda\ufffd"));
  });

  it("gives nothing for nothing", () => {
    const { cached } = encoders(smallModel(ENGLISH));
    expect([...cached.encode("")]).toEqual([]);
    expect([...cached.encode("   ")]).toEqual([]);
  });
});
