/** SHA-256 by the platform's own cryptography: in Node, in workers and in pages from https or localhost. */
import { reject } from "../base/errors.ts";

/** In hexadecimal. */
export async function sha256Of(content: Uint8Array<ArrayBuffer> | string): Promise<string> {
  const subtle = globalThis.crypto?.subtle;
  if (!subtle) {
    const got = "a page without a secure context";
    reject({ who: "sha256", needed: "Web Crypto", got, remedy: "serve the page from https or localhost" });
  }
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const digest = new Uint8Array(await subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
