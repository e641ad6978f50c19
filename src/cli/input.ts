/** What a command is given on its standard input. */

/** Everything on standard input. */
export async function readInput(): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of process.stdin) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString("utf8");
}
