/** Bytes that turn into text, as Node's do: as much of them as reading and writing files needs. */
import { joined } from "../base/joined.ts";

const [encoder, decoder] = [new TextEncoder(), new TextDecoder("utf-8", { ignoreBOM: true })];

/** Bytes of a file. */
export class Bytes extends Uint8Array {
  static alloc(length: number): Bytes {
    return new Bytes(length);
  }

  static allocUnsafe(length: number): Bytes {
    return new Bytes(length);
  }

  static override from(content: string | ArrayLike<number> | Iterable<number>): Bytes {
    const found = typeof content === "string" ? encoder.encode(content) : content;
    if (!("length" in found)) return Bytes.from([...found]);
    const bytes = new Bytes(found.length);
    bytes.set(found);
    return bytes;
  }

  static concat(parts: readonly Uint8Array[]): Bytes {
    return new Bytes(joined(parts).buffer);
  }

  static byteLength(text: string): number {
    return encoder.encode(text).length;
  }

  /** UTF-8, or hexadecimal. */
  override toString(encoding: "utf8" | "utf-8" | "hex" = "utf8"): string {
    if (encoding !== "hex") return decoder.decode(this);
    return Array.from(this, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
}

/** Text or bytes as bytes. */
export const bytesOf = (data: string | Uint8Array): Uint8Array =>
  typeof data === "string" ? encoder.encode(data) : data;
