/** `npm run bench`: every claim of speed, measured beside its peers in one run. */
import { parseArgs } from "node:util";
import { defaultThreads } from "../src/engine/ort.ts";
import { bench as depth } from "./depth.ts";
import { bench as encoder } from "./encoder.ts";
import { bench as generation } from "./generation.ts";
import { bench as languageModel } from "./language-model.ts";
import type { Bench, Measurement } from "./measure.ts";
import { bench as supernet } from "./supernet.ts";
import { bench as tokenizer } from "./tokenizer.ts";

const benches: Readonly<Record<string, Bench>> = {
  "language-model": languageModel,
  generation,
  depth,
  encoder,
  supernet,
  tokenizer,
};

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    json: { type: "boolean", default: false },
    rounds: { type: "string", default: "15" },
    threads: { type: "string", default: String(defaultThreads()) },
    help: { type: "boolean", default: false },
  },
});

function chosen(): [string, Bench][] {
  const names = Object.keys(benches);
  if (values.only === undefined) return Object.entries(benches);
  const bench = benches[values.only];
  if (bench) return [[values.only, bench]];
  process.stderr.write(`bench: expected one of ${names.join(", ")}, got ${values.only}\n`);
  process.exit(2);
}

function print(rows: readonly Measurement[]): void {
  const lines = rows.map(({ name, ours_ms, peer, peer_ms, ratio, target }) => {
    const verdict = ratio <= target ? "holds" : "MISSED";
    return [
      name,
      `${ours_ms.toFixed(1)} ms`,
      peer,
      `${peer_ms.toFixed(1)} ms`,
      ratio.toFixed(3),
      `≤ ${target}`,
      verdict,
    ];
  });
  const table = [["work", "ours", "peer", "peer's", "ratio", "target", ""], ...lines];
  const widths = table[0]!.map((_, i) => Math.max(...table.map((row) => row[i]!.length)));
  for (const row of table)
    process.stdout.write(
      `${row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join("  ")
        .trimEnd()}\n`,
    );
}

if (values.help) {
  process.stdout.write(
    `npm run bench -- [--only ${Object.keys(benches).join("|")}] [--rounds N] [--threads N] [--json]\n`,
  );
  process.exit(0);
}
const rows: Measurement[] = [];
for (const [name, bench] of chosen()) {
  const say = (text: string) => process.stderr.write(`${name}: ${text}\n`);
  rows.push(...(await bench({ say, rounds: Number(values.rounds), threads: Number(values.threads) })));
}
if (values.json) process.stdout.write(`${JSON.stringify(rows)}\n`);
else print(rows);
