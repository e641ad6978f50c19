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
const SAVE_MS = 10_000;
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
  let totals = stored(file) ?? { next: 0, inputs: 0, refused: 0, finds: 0, minutes: 0 };
  const end = performance.now() + Number(values.minutes) * 60_000;
  const save = (now: Totals) => writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`);
  for (let skip = 0; performance.now() < end; ) {
    const stopped = await session(totals, skip, end, folder, save);
    totals = stopped.totals;
    skip = (stopped.number + 1) % chosen.length;
    save(totals);
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

/** A thread's life: until time is up, it dies, or an input hangs. Gives what came of it, and the target it was at. */
async function session(
  before: Totals,
  skip: number,
  end: number,
  folder: string,
  save: (totals: Totals) => void,
): Promise<{ totals: Totals; number: number }> {
  const place = new SharedArrayBuffer(4 * 8);
  const at = new Float64Array(place);
  at[0] = before.next;
  const started = performance.now();
  let finds = before.finds;
  const now = (done: boolean): Totals => ({
    next: at[0]! + (done && at[1]! + 1 === chosen.length ? 1 : 0),
    inputs: before.inputs + at[2]!,
    refused: before.refused + at[3]!,
    finds,
    minutes: before.minutes + (performance.now() - started) / 60_000,
  });
  const found = (find: Find, index: number) => {
    finds++;
    keep(folder, find, index);
  };
  const work: Work = { seed, only: values.only, from: before.next, skip, place };
  const worker = new Worker(STARTER, { eval: true, workerData: work });
  const died = new Promise<string>((resolve) => {
    worker.on("error", (error) => resolve(`${error.stack}`));
    worker.on("exit", (code) => resolve(`exit code ${code}`));
  });
  worker.on("message", ({ index, ...find }: Said) => found(find, index));
  const saving = setInterval(() => save(now(false)), SAVE_MS);
  const outcome = await Promise.race([died, watched(at, end)]);
  clearInterval(saving);
  const number = at[1]!;
  if (outcome !== "")
    found({ target: chosen[number]!.name, kind: outcome === "hang" ? "hang" : "crash", what: outcome }, at[0]!);
  await worker.terminate();
  return { totals: now(true), number };
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

function keep(folder: string, find: Find, index: number): void {
  const name = `${find.target.replaceAll(/\W/g, "-")}-${find.kind}-${index}`;
  const target = chosen.find(({ name }) => name === find.target)!;
  writeFileSync(join(folder, `${name}.bin`), inputNumber(target, seed, index));
  writeFileSync(join(folder, `${name}.txt`), `${find.target} ${find.kind}: ${find.what}\n`);
  console.error(`${find.target} ${find.kind}, input ${index}: ${find.what.split("\n").slice(0, 3).join(" ")}`);
}
