import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { crc32, crc32c, maskedCrc32c } from "./crc.ts";

const ascii = (text: string) => new TextEncoder().encode(text);

/** The definition, bit by bit. */
function slowCrc(bytes: Uint8Array, polynomial: number): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
  }
  return ~crc >>> 0;
}

describe("CRC-32 and CRC-32C", () => {
  it("gives the published check values", () => {
    expect(crc32(ascii("123456789"))).toBe(0xcbf43926);
    expect(crc32c(ascii("123456789"))).toBe(0xe3069283);
    expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
    expect(crc32c(new Uint8Array(32).fill(255))).toBe(0x62a8ab43);
    expect(crc32c(new Uint8Array(0))).toBe(0);
  });

  it("agrees with the bitwise definition at every length and alignment", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), fc.nat(9), (bytes, skip) => {
        const part = bytes.subarray(Math.min(skip, bytes.length));
        expect(crc32c(part)).toBe(slowCrc(part, 0x82f63b78));
        expect(crc32(part)).toBe(slowCrc(part, 0xedb88320));
      }),
    );
  });

  it("continues over a cut", () => {
    const bytes = ascii("the rabbit-hole went straight on");
    expect(crc32c(bytes.subarray(11), crc32c(bytes.subarray(0, 11)))).toBe(crc32c(bytes));
  });

  it("masks by rotation and addition", () => {
    const crc = crc32c(ascii("abc"));
    const rotated = Number(((BigInt(crc) >> 15n) | (BigInt(crc) << 17n)) & 0xffffffffn);
    expect(maskedCrc32c(ascii("abc"))).toBe((rotated + 0xa282ead8) % 2 ** 32);
  });
});
