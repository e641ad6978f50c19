/** How the cost of training grows with depth, width, batch, sequence and threads: tokens a second, one size changed at a time. */
import os from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { RandomStream } from "../src/base/random.ts";
import { formatNumber, table } from "../src/base/table.ts";
import { defaultThreads, ortEngine } from "../src/engine/ort.ts";
import { writeAtomically } from "../src/files/atomic.ts";
import { languageModel } from "../src/model/language/language.ts";
import { reportOn } from "../src/model/report.ts";
import { initialise } from "../src/nn/index.ts";
import { COLOURS, dotMark, labelMarks, lineMark, type Point, plotSvg } from "../src/pictures/plot.ts";
import { adamw } from "../src/train/optimiser.ts";
import { TrainingStep } from "../src/train/step.ts";
import { placeFor } from "./flags.ts";
import { type Contender, interleave, median, timed } from "./measure.ts";
import { commitNow, machineNow } from "./setting.ts";

const base = { depth: 4, width: 128, batch: 8, sequence: 64, threads: 1 };
type Sizes = typeof base;
type Axis = keyof Sizes;
const VOCABULARY = 2000;
const HEAD_WIDTH = 32;

const axes: Readonly<Record<Axis, readonly number[]>> = {
  depth: [1, 2, 4, 8, 16],
  width: [32, 64, 128, 256, 512],
  batch: [1, 2, 4, 8, 16, 32],
  sequence: [16, 32, 64, 128, 256],
  threads: Array.from({ length: defaultThreads() }, (_, i) => i + 1),
};

export interface Growth {
  readonly axis: string;
  readonly value: number;
  /** How many times the base's size. */
  readonly factor: number;
  /** Of a training step. */
  readonly flopsPerToken: number;
  readonly stepMs: number;
  readonly tokensPerSecond: number;
}

/** A compiled training step of these sizes, without dropout. */
async function openStep({ depth, width, batch, sequence, threads }: Sizes) {
  const plan = Array.from({ length: depth }, (_, i) => i);
  const model = languageModel({ vocabulary: VOCABULARY, width, heads: width / HEAD_WIDTH, plan, length: sequence });
  const initial = initialise(model.parameters, 1);
  const objective = model.objective({ batch, length: sequence, training: true });
  const groups = [{ parameters: [...initial.keys()], optimiser: adamw() }];
  const engine = await ortEngine({ threads });
  const step = await TrainingStep.create({ engine, ...objective, groups, initial, seed: 1 });
  const random = new RandomStream(1, "scaling");
  const draw = () => Int32Array.from({ length: batch * sequence }, () => random.integer(VOCABULARY));
  const feeds = { ids: draw(), targets: draw() };
  const { trainingFlopsPerToken: flopsPerToken } = reportOn(model, { length: sequence });
  return { flopsPerToken, run: () => step.run(feeds, 1e-4), release: () => step.release() };
}

/** All sizes of one axis, in turn. */
async function measureAxis(axis: Axis, rounds: number): Promise<Growth[]> {
  const sizes = axes[axis].map((value): Sizes => ({ ...base, [axis]: value }));
  const steps: Awaited<ReturnType<typeof openStep>>[] = [];
  for (const each of sizes) steps.push(await openStep(each));
  const contenders = Object.fromEntries(
    steps.map(({ run }, i): [string, Contender] => [
      `${axis} ${i}`,
      // Once untimed: the threads of the one before wait busily for a while.
      async () => {
        await run();
        return timed(run);
      },
    ]),
  );
  await interleave(contenders, 1);
  const times = [...(await interleave(contenders, rounds)).values()];
  for (const { release } of steps) await release();
  return sizes.map((each, i) => {
    const [stepMs, { flopsPerToken }] = [median(times[i]!), steps[i]!];
    const tokensPerSecond = (1000 * each.batch * each.sequence) / stepMs;
    return { axis, value: each[axis], factor: each[axis] / base[axis], flopsPerToken, stepMs, tokensPerSecond };
  });
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
    y: { title: "tokens a second", values: rows.map(({ tokensPerSecond }) => tokensPerSecond), log: true },
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

function cellsOf({ axis, value, flopsPerToken, stepMs, tokensPerSecond }: Growth) {
  return {
    ...{ size: axis, value, "FLOPs a token": `${formatNumber(flopsPerToken / 1e6, 2)} M` },
    ...{ step: `${formatNumber(stepMs, 1)} ms`, "tokens a second": Math.round(tokensPerSecond) },
    "GFLOP/s": ((tokensPerSecond * flopsPerToken) / 1e9).toFixed(1),
  };
}

/** The page beside the picture. */
export function growthPage(rows: readonly Growth[], setting: string): string {
  const cells = rows.map(cellsOf);
  const line = (texts: readonly (string | number)[]) =>
    `| ${texts.map((text) => (typeof text === "number" ? formatNumber(text) : text)).join(" | ")} |`;
  const titles = Object.keys(cells[0]!);
  return [
    "# How the cost of training grows",
    "",
    "![tokens a second against depth, width, batch, sequence and threads](scaling.svg)",
    "",
    setting,
    "",
    line(titles),
    `|${titles.map(() => "---").join("|")}|`,
    ...cells.map((row) => line(Object.values(row))),
    "",
  ].join("\n");
}

async function main(): Promise<void> {
  const docs = fileURLToPath(new URL("../docs", import.meta.url));
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "7" },
      out: { type: "string" },
      write: { type: "boolean", default: false },
    },
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) {
    process.stderr.write(`scaling: expected --rounds of at least 1, got ${values.rounds}\n`);
    process.exit(2);
  }
  const load = os.loadavg()[0]!.toFixed(1);
  const rows: Growth[] = [];
  for (const axis of Object.keys(axes) as Axis[]) {
    process.stderr.write(`scaling: ${axis} ${axes[axis].join(", ")}\n`);
    rows.push(...(await measureAxis(axis, rounds)));
  }
  const sizes = Object.entries(base).map(([axis, value]) => `${axis} ${value}`);
  const what = `Training step of a language model (vocabulary ${formatNumber(VOCABULARY)}, heads of ${HEAD_WIDTH}, AdamW, no dropout); base: ${sizes.join(", ")}.`;
  const how = `Medians of ${rounds} interleaved rounds, ${machineNow()}, commit ${commitNow()}, load average ${load} at the start.`;
  const place = placeFor(values.out, values.write, docs);
  if (place !== undefined) {
    const page = growthPage(rows, `${what}\n${how} \`npx tsx bench/scaling.ts --write\` writes this page.`);
    await writeAtomically(join(place, "scaling.svg"), growthSvg(rows, "Training: tokens a second against size"));
    await writeAtomically(join(place, "scaling.md"), page);
  }
  process.stdout.write(`${table(rows.map(cellsOf))}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
