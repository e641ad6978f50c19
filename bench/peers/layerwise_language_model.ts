/** Our side of benchmarks in a process of its own: `THREADS [CONFIG]`; answers `step N` and `memory` as torch_language_model.py does. */
import { createInterface } from "node:readline";
import { ortEngine } from "../../src/engine/ort.ts";
import { openStep } from "../language-model.ts";
import { timed } from "../measure.ts";

const [threads, config] = process.argv.slice(2);
const { run } = await openStep(await ortEngine({ threads: Number(threads) }), config ? JSON.parse(config) : undefined);
const print = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);
print("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [command, count] = line.split(" ");
  if (command === "quit") break;
  const times: number[] = [];
  for (let i = 0; i < Number(count ?? 0); i++) times.push(await timed(run));
  print(command === "memory" ? process.resourceUsage().maxRSS / 1024 : times);
}
process.exit(0);
