/**
 * `npm run fuzz -- [--minutes N] [--only FORMAT] [--seed S] [--out DIR]`: attacks every parser with damaged files. The same seed gives
 * the same inputs, and goes on where it stopped. `--try FILE --only FORMAT` judges one file.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { reject } from "../../src/base/errors.ts";
import { type Find, inputNumber, judge } from "./judge.ts";
import { targets } from "./targets.ts";
import type { Said, Work } from "./worker.ts";

const HANG_MS = 20_000;
const POLL_MS = 250;
/** A thread needs its own way to read TypeScript. */
const STARTER = `import("tsx/esm/api").then(({ register }) => (register(), import(${JSON.stringify(new URL("./worker.ts", import.meta.url).href)})))`;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    only: { type: "string" },
    seed: { type: "string", default: "1" },
    out: { type: "string", default: join(tmpdir(), "layerwise-fuzz") },
    try: { type: "string" },
  },
});
const seed = Number(values.seed);
const names = targets.map(({ name }) => name);
if (values.only !== undefined && !names.includes(values.only))
  reject({ who: "fuzz", needed: `--only with one of ${names.join(", ")}`, got: values.only }, 2);
const chosen = targets.filter(({ name }) => values.only === undefined || name === values.only);

if (values.try === undefined) await attack();
else for (const target of chosen) console.log(target.name, await judge(target, readFileSync(values.try)));

interface Totals {
  next: number;
  inputs: number;
  refused: number;
  finds: number;
  minutes: number;
}

async function attack(): Promise<void> {
  const folder = join(values.out, `seed-${seed}${values.only ? `-${values.only.replaceAll(/\W/g, "-")}` : ""}`);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "totals.json");
  const totals = stored(file) ?? { next: 0, inputs: 0, refused: 0, finds: 0, minutes: 0 };
  const started = performance.now();
  const end = started + Number(values.minutes) * 60_000;
  const before = totals.minutes;
  let skip = 0;
  while (performance.now() < end) {
    const stopped = await session(totals, skip, end, (find, index) => keep(folder, find, index, totals));
    totals.next = stopped.index + (stopped.number + 1 === chosen.length ? 1 : 0);
    skip = (stopped.number + 1) % chosen.length;
    totals.minutes = before + (performance.now() - started) / 60_000;
    writeFileSync(file, `${JSON.stringify(totals, null, 2)}\n`);
  }
  const peakMb = Math.round(process.resourceUsage().maxRSS / 1024);
  console.log(JSON.stringify({ seed, parsers: chosen.length, ...totals, peakMb, folder }));
  process.exitCode = totals.finds > 0 ? 1 : 0;
}

function stored(file: string): Totals | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

interface Place {
  readonly index: number;
  readonly number: number;
}

/** A thread's life: until time is up, it dies, or an input hangs. Returns the last place. */
async function session(
  totals: Totals,
  skip: number,
  end: number,
  found: (find: Find, index: number) => void,
): Promise<Place> {
  const place = new SharedArrayBuffer(4 * 8);
  const at = new Float64Array(place);
  at[0] = totals.next;
  const work: Work = { seed, only: values.only, from: totals.next, skip, place };
  const worker = new Worker(STARTER, { eval: true, workerData: work });
  const died = new Promise<string>((resolve) => {
    worker.on("error", (error) => resolve(`${error.stack}`));
    worker.on("exit", (code) => resolve(`exit code ${code}`));
  });
  worker.on("message", ({ index, ...find }: Said) => found(find, index));
  const outcome = await Promise.race([died, watched(at, end)]);
  const last = { index: at[0]!, number: at[1]! };
  if (outcome !== "") {
    const kind = outcome === "hang" ? "hang" : "crash";
    found({ target: chosen[last.number]!.name, kind, what: outcome }, last.index);
  }
  await worker.terminate();
  totals.inputs += at[2]!;
  totals.refused += at[3]!;
  return last;
}

/** "" when time is up, "hang" when one input takes too long. */
async function watched(at: Float64Array, end: number): Promise<string> {
  let [tried, since] = [-1, performance.now()];
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if (at[2] !== tried) [tried, since] = [at[2]!, performance.now()];
    if (performance.now() > end) return "";
    if (performance.now() - since > HANG_MS) return "hang";
  }
}

function keep(folder: string, find: Find, index: number, totals: Totals): void {
  totals.finds++;
  const name = `${find.target.replaceAll(/\W/g, "-")}-${find.kind}-${index}`;
  const target = chosen.find(({ name }) => name === find.target)!;
  writeFileSync(join(folder, `${name}.bin`), inputNumber(target, seed, index));
  writeFileSync(join(folder, `${name}.txt`), `${find.target} ${find.kind}: ${find.what}\n`);
  console.error(`${find.target} ${find.kind}, input ${index}: ${find.what.split("\n").slice(0, 3).join(" ")}`);
}
