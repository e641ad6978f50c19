/** SHA-256 of bytes and of files, in hexadecimal. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";

/** SHA-256 of a file, in hexadecimal. */
export function sha256(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Of a file's content, read in blocks. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const block of createReadStream(path)) hash.update(block as Uint8Array);
  return hash.digest("hex");
}
