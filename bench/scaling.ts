/** How the cost of training grows with depth, width, batch and sequence, on one thread and on all: against PyTorch, and against what it should cost. */
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { formatNumber, table } from "../src/base/table.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { writeAtomically } from "../src/files/atomic.ts";
import { reportOn } from "../src/model/report.ts";
import { COLOURS, dotMark, labelMarks, lineMark, type Point, plotSvg } from "../src/pictures/plot.ts";
import { sizeOf } from "../src/train/memory.ts";
import { stepGraph } from "../src/train/step-graph.ts";
import { flagsOf, placeFor } from "./flags.ts";
import { type ModelConfig, openStep } from "./language-model.ts";
import { type Contender, interleave, median, timed } from "./measure.ts";
import { admitted, type Peer, pythonPeer, torchPython } from "./peer.ts";
import { commitNow, machineNow } from "./setting.ts";
import { expectedMs, partsOf, type Speeds, type StepParts, speedsOf } from "./step-costs.ts";

const base = { depth: 4, width: 128, batch: 8, sequence: 64 };
type Sizes = typeof base;
type Axis = keyof Sizes;
const VOCABULARY = 2000;
const HEAD_WIDTH = 32;

const axes: Readonly<Record<Axis, readonly number[]>> = {
  depth: [1, 2, 4, 8, 16, 24, 48],
  width: [32, 64, 128, 256, 512, 1024],
  batch: [1, 2, 4, 8, 16, 32],
  sequence: [16, 32, 64, 128, 256, 512, 1024, 2048],
};

export interface Growth {
  readonly axis: string;
  readonly value: number;
  /** How many times the base's size. */
  readonly factor: number;
  readonly threads: number;
  /** Of a training step. */
  readonly flopsPerToken: number;
  readonly stepMs: number;
  readonly tokensPerSecond: number;
  /** Absent where there is no PyTorch. */
  readonly torchMs?: number | undefined;
  readonly parts: StepParts;
}

function configOf({ depth, width, batch, sequence: length }: Sizes): ModelConfig {
  const plan = Array.from({ length: depth }, (_, i) => i);
  const shape = { width, heads: width / HEAD_WIDTH, hidden: 4 * width, length };
  return { vocabulary: VOCABULARY, ...shape, plan, batch, dropout: 0 };
}

const say = (text: string) => void process.stderr.write(`scaling: ${text}\n`);

async function torchPeer(config: ModelConfig, threads: number): Promise<Peer | undefined> {
  const python = torchPython(say);
  const args = ["--config", JSON.stringify(config), "--threads", `${threads}`];
  return python === undefined
    ? undefined
    : admitted("PyTorch", pythonPeer(python, "torch_language_model.py", args), say);
}

/** Twice, of which the second counts: the threads of the one before wait busily for a while. */
const settled =
  (run: () => Promise<number>): Contender =>
  async () => {
    await run();
    return run();
  };

/** One size on so many threads, in turn with PyTorch. */
async function measured(axis: Axis, value: number, speeds: Speeds, options: { threads: number; rounds: number }) {
  const { threads, rounds } = options;
  const sizes: Sizes = { ...base, [axis]: value };
  const config = configOf(sizes);
  say(`${axis} ${value}, ${threads} ${threads === 1 ? "thread" : "threads"}`);
  const ours = await openStep(await ortEngine({ threads }), config);
  const peer = await torchPeer(config, threads);
  const contenders = {
    ours: settled(() => timed(ours.run)),
    ...(peer && { torch: settled(async () => (await peer.ask<number[]>("step 1"))[0]!) }),
  };
  await interleave(contenders, 1);
  const times = await interleave(contenders, rounds);
  await ours.step.release();
  peer?.end();
  const { outputs } = stepGraph(ours.objective.loss, ours.parameters);
  const parameters = ours.model.parameters.reduce((sum, { tensor }) => sum + sizeOf(tensor.attributes.shape), 0);
  const stepMs = median(times.get("ours")!);
  return {
    axis,
    value,
    factor: value / base[axis],
    threads,
    flopsPerToken: reportOn(ours.model, { length: sizes.sequence }).trainingFlopsPerToken,
    stepMs,
    tokensPerSecond: (1000 * sizes.batch * sizes.sequence) / stepMs,
    torchMs: peer && median(times.get("torch")!),
    parts: partsOf(outputs, parameters, speeds),
  };
}

/** A line an axis over how many times the base's size it is, both scales logarithmic: a straight fall of slope −1 is cost in proportion. */
export function growthSvg(rows: readonly Growth[], title: string): string {
  const names = [...new Set(rows.map(({ axis }) => axis))];
  const pointOf = ({ factor: x, tokensPerSecond: y }: Growth): Point => ({ x, y });
  const lines = names.map((name, i) => ({
    name,
    colour: COLOURS[i % COLOURS.length]!,
    rows: rows.filter(({ axis }) => axis === name),
  }));
  const plotted = {
    title,
    legend: lines.map(({ name, colour }) => ({ name, colour })),
    x: { title: "size ÷ base", values: rows.map(({ factor }) => factor), log: true },
    y: { title: "tokens per second", values: rows.map(({ tokensPerSecond }) => tokensPerSecond), log: true },
  };
  return plotSvg(plotted, (plot) => [
    ...lines.map((line) => lineMark(plot, line.rows.map(pointOf), line.colour)),
    ...lines.flatMap((line) =>
      line.rows.map((row) => dotMark(plot, pointOf(row), line.colour, `${row.axis} ${row.value}`)),
    ),
    ...labelMarks(
      plot,
      lines.map((line) => ({ ...pointOf(line.rows.at(-1)!), name: line.name })),
    ),
  ]);
}

function cellsOf({ axis, value, flopsPerToken, stepMs, tokensPerSecond, torchMs, parts }: Growth) {
  const expected = expectedMs(parts);
  const percent = (part: number) => `${Math.round((100 * part) / stepMs)} %`;
  return {
    ...{ size: axis, value, "FLOPs per token": `${formatNumber(flopsPerToken / 1e6, 2)} M` },
    ...{ step: `${formatNumber(stepMs, 1)} ms`, "tokens per second": Math.round(tokensPerSecond) },
    "GFLOP/s": ((tokensPerSecond * flopsPerToken) / 1e9).toFixed(1),
    "of PyTorch": torchMs === undefined ? "–" : (stepMs / torchMs).toFixed(2),
    ...{ products: percent(parts.products), memory: percent(parts.memory) },
    ...{ operations: percent(parts.operations), update: percent(parts.update) },
    ...{ expected: `${formatNumber(expected, 1)} ms`, rest: percent(stepMs - expected) },
  };
}

function tableOf(rows: readonly Growth[]): string[] {
  const cells = rows.map(cellsOf);
  const line = (texts: readonly (string | number)[]) =>
    `| ${texts.map((text) => (typeof text === "number" ? formatNumber(text) : text)).join(" | ")} |`;
  const titles = Object.keys(cells[0]!);
  return [line(titles), `|${titles.map(() => "---").join("|")}|`, ...cells.map((row) => line(Object.values(row)))];
}

const speedsText = ({ gflops, gigabytesPerSecond, microsecondsPerOperation }: Speeds) =>
  `${gflops.toFixed(0)} GFLOP/s in large products, ${gigabytesPerSecond.toFixed(1)} GB/s in elementwise operations, ${microsecondsPerOperation.toFixed(1)} µs per operation`;

const HOW = `A step should cost what its products, the memory that its other operations read and write, the operations themselves and the update would take one after the other at the machine's measured speeds. They are given as shares of the measured step; *rest* is what they do not explain. It is positive where products are too small for full speed, and negative where intermediate results stay in the cache or operations are fused.`;

/** The page beside the picture: a table for each number of threads, and the speeds it was predicted from. */
export function growthPage(rows: readonly Growth[], setting: string, speeds: ReadonlyMap<number, Speeds>): string {
  const parts = [...speeds].flatMap(([threads, each]) => [
    `## ${threads} ${threads === 1 ? "thread" : "threads"}`,
    "",
    `This machine's speeds: ${speedsText(each)}.`,
    "",
    ...tableOf(rows.filter((row) => row.threads === threads)),
    "",
  ]);
  return [
    ...["# How the cost of training grows", ""],
    ...["![tokens per second against depth, width, batch and sequence](scaling.svg)", ""],
    ...[setting, "", HOW, "", ...parts],
  ].join("\n");
}

async function main(): Promise<void> {
  const { values } = flagsOf({ rounds: "5", only: undefined, out: undefined, write: false });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) {
    process.stderr.write(`scaling: expected --rounds of at least 1, got ${values.rounds}\n`);
    process.exit(2);
  }
  const load = loadavg()[0]!.toFixed(1);
  const counts = Array.from({ length: availableParallelism() }, (_, i) => i + 1);
  const speeds = new Map<number, Speeds>();
  for (const threads of counts) speeds.set(threads, await speedsOf(await ortEngine({ threads })));
  const rows: Growth[] = [];
  for (const axis of Object.keys(axes) as Axis[]) {
    if (values.only !== undefined && values.only !== axis) continue;
    for (const value of axes[axis]) {
      for (const threads of counts) rows.push(await measured(axis, value, speeds.get(threads)!, { threads, rounds }));
    }
  }
  const sizes = Object.entries(base).map(([axis, value]) => `${axis} ${value}`);
  const what = `Training step of a language model (vocabulary ${formatNumber(VOCABULARY)}, heads of ${HEAD_WIDTH}, AdamW, no dropout); base: ${sizes.join(", ")}.`;
  const how = `Medians of ${rounds} rounds in turn with PyTorch eager, ${machineNow()}, commit ${commitNow()}, load average ${load} at the start.`;
  const place = placeFor(values.out, values.write, fileURLToPath(new URL("../docs", import.meta.url)));
  if (place !== undefined) {
    const page = growthPage(rows, `${what}\n${how} \`npx tsx bench/scaling.ts --write\` writes this page.`, speeds);
    const drawn = rows.filter(({ threads }) => threads === counts.at(-1));
    await writeAtomically(join(place, "scaling.svg"), growthSvg(drawn, "Training: tokens per second against size"));
    await writeAtomically(join(place, "scaling.md"), page);
  }
  for (const threads of counts)
    process.stdout.write(`${threads} threads\n${table(rows.filter((row) => row.threads === threads).map(cellsOf))}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
