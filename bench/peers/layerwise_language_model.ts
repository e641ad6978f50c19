/** Our side of benchmarks in a process of its own: `THREADS [CONFIG [products]]`; answers `step N` and `memory` as torch_language_model.py does, with `products` by the products of a step alone. */
import { createInterface } from "node:readline";
import { ortEngine } from "../../src/engine/ort.ts";
import { openStep, stepProducts, config as usual } from "../language-model.ts";
import { timed } from "../measure.ts";

const [threads, given, what] = process.argv.slice(2);
const engine = await ortEngine({ threads: Number(threads) });
const config = given === undefined ? usual : JSON.parse(given);

/** An update, or what one multiplies; in milliseconds. */
async function opened(): Promise<() => Promise<number>> {
  if (what === "products") return stepProducts(engine, config);
  const { run } = await openStep(engine, config);
  return () => timed(run);
}

const step = await opened();
const print = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);
print("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [command, count] = line.split(" ");
  if (command === "quit") break;
  const times: number[] = [];
  for (let i = 0; i < Number(count ?? 0); i++) times.push(await step());
  print(command === "memory" ? process.resourceUsage().maxRSS / 1024 : times);
}
process.exit(0);
