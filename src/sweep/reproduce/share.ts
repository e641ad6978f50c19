/** Takase & Kiyono: layers that share weights beside layers that do not, in translation and as language models. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { spreadOf } from "../../base/spread.ts";
import { formatNumber } from "../../base/table.ts";
import type { Values } from "../../runs/settings.ts";
import { summarise } from "../../runs/summary.ts";
import type { Block } from "../../tasks/papers/report.ts";
import { Run } from "../../tasks/run.ts";
import { settingsNamed } from "../../tasks/settings/index.ts";
import type { TrainConfig } from "../../tasks/trained-job.ts";
import { relayed } from "../../train/session.ts";
import { type Contestant, compare, figuresSoFar, type Result } from "../comparison.ts";
import type { SweepEvent } from "../launcher.ts";
import type { SweepResult } from "../sweep.ts";
import { namedFolder } from "../sweep-folder.ts";
import { above, against, type Claim, holds, type Measured, spreadText } from "./claims.ts";
import { type Course, type Experiment, note, type Outcome, partTime, type ReproducePreset } from "./course.ts";
import { makePairs } from "./made-texts.ts";
import { wikitext } from "./needs.ts";

/** The two tasks of the paper. */
export type SharePart = "translation" | "language";

/** A row of ours: a comparison's, and what the test text says. */
export interface ShareRow extends Result {
  /** BLEU of translations, perplexity of language models, on the test text. */
  readonly score: Measured;
}

/** Both tables, as far as they are trained. */
export type ShareFigures = Readonly<Record<SharePart, readonly ShareRow[]>>;

/** A row of the paper. */
interface PaperRow {
  readonly name: string;
  readonly parameters: string;
  /** Training speed beside the first row's; null where it is not at hand. */
  readonly speed: number | null;
  readonly figure: number;
}

interface PaperTable {
  readonly task: string;
  readonly figure: string;
  readonly rows: readonly PaperRow[];
}

const modes = ["sequence", "cycle", "cycle_rev"] as const;

/** The paper's rows as far as they are at hand. */
export const paperTables: Readonly<Record<SharePart, PaperTable>> = {
  translation: {
    task: "WMT English–German, mean of newstest 2010–2016",
    figure: "BLEU",
    rows: [
      { name: "vanilla 6/6", parameters: "61 M", speed: 1, figure: 26.57 },
      { name: "universal 1/6", parameters: "63 M", speed: 0.48, figure: 26.9 },
      { name: "sequence 6/12", parameters: "61 M", speed: 0.63, figure: 27.13 },
      { name: "cycle 6/12", parameters: "61 M", speed: 0.63, figure: 27.04 },
      { name: "cycle_rev 6/12", parameters: "61 M", speed: 0.63, figure: 27.08 },
      { name: "sequence 6/18", parameters: "61 M", speed: 0.47, figure: 27.02 },
      { name: "cycle 6/18", parameters: "61 M", speed: 0.47, figure: 27.25 },
      { name: "cycle_rev 6/18", parameters: "61 M", speed: 0.47, figure: 27.31 },
    ],
  },
  language: {
    task: "WikiText-103, test text",
    figure: "perplexity",
    rows: [
      { name: "vanilla 6/6", parameters: "121 M", speed: null, figure: 21.13 },
      { name: "universal 1/6", parameters: "121 M", speed: null, figure: 23.84 },
      { name: "sequence 6/12", parameters: "121 M", speed: null, figure: 19.69 },
      { name: "cycle 6/12", parameters: "121 M", speed: null, figure: 19.69 },
      { name: "cycle_rev 6/12", parameters: "121 M", speed: null, figure: 20.24 },
    ],
  },
};

/** Half of the paper's depths on a laptop. */
const layouts = { tiny: { unique: 2, depth: 4 }, laptop: { unique: 3, depth: 6 } } as const;

/** Our rows: vanilla at both depths, and the three orders at equal parameters. */
export function rowsAt({ unique, depth }: { readonly unique: number; readonly depth: number }): Contestant[] {
  const vanilla = (layers: number): Contestant => {
    return { name: `vanilla ${layers}/${layers}`, unique: layers, depth: layers, share: "cycle" };
  };
  const shared = modes.map((share) => ({ name: `${share} ${unique}/${depth}`, unique, depth, share }));
  return [vanilla(unique), vanilla(depth), ...shared];
}

const small = { width: 16, heads: 2, batch: 4, steps: 4, warmup: 1, evaluateEvery: 4, checkpointEvery: 2, keep: 1 };

/** What is trained, beside rows and seeds. */
const recipes: Readonly<Record<ReproducePreset, Readonly<Record<SharePart, Values>>>> = {
  tiny: {
    translation: { ...small, pieces: 100, epochs: null, feedForward: 32, length: 32 },
    language: { ...small, corpus: "books", pieces: 300, length: 16, evaluateTokens: 512 },
  },
  laptop: {
    translation: { corpus: "multi30k", epochs: 3, keep: 1 },
    language: {
      corpus: "wikitext-2",
      pieces: 4000,
      width: 128,
      heads: 4,
      length: 64,
      batch: 16,
      steps: 2000,
      evaluateEvery: 500,
      checkpointEvery: 250,
      keep: 1,
    },
  },
};

const parts: readonly SharePart[] = ["translation", "language"];
const tasks = { translation: "translate", language: "language" } as const;

/** Settings that all rows of a table have. */
async function settingsOf(course: Course, part: SharePart): Promise<TrainConfig> {
  const schema = await settingsNamed(tasks[part]);
  const made = part === "translation" && course.preset === "tiny" ? { corpus: course.at("data", "pairs") } : {};
  const values = { ...recipes[course.preset][part], ...made, ...course.shared };
  return schema.resolve([{ source: `reproduce share / ${part}`, values }]) as TrainConfig;
}

const rowsOf = ({ preset }: Course) => rowsAt(layouts[preset]);

const runsOf = (course: Course, part: SharePart, row: Contestant) =>
  course.seeds.map((seed) => course.at(part, namedFolder(row.name, seed)));

async function* carryOut(course: Course): AsyncGenerator<SweepEvent, Outcome<ShareFigures>, void> {
  let reason: SweepResult["reason"] = "finished";
  for (const part of parts) {
    if (reason !== "finished") break;
    if (part === "translation" && course.preset === "tiny") await makePairs(course.at("data", "pairs"));
    yield note(`${part}: ${rowsOf(course).length} models, ${course.seeds.length} seeds each`);
    reason = (yield* relayed(compare({ ...(await optionsOf(course, part)), on: course.on, signal: course.signal })))
      .reason;
    if (reason === "finished") reason = yield* scored(course, part);
  }
  return { reason, ...(await figuresIn(course)) };
}

const optionsOf = async (course: Course, part: SharePart) => ({
  settings: await settingsOf(course, part),
  rows: rowsOf(course),
  seeds: course.seeds.length,
  folder: course.at(part),
});

/** The score of a run on the test text, kept under its name. */
const scoreName = (part: SharePart, row: Contestant, seed: number) => join(part, namedFolder(row.name, seed));

async function* scored(course: Course, part: SharePart): AsyncGenerator<SweepEvent, SweepResult["reason"], void> {
  for (const row of rowsOf(course)) {
    for (const seed of course.seeds) {
      if (course.signal.aborted) return "stopped";
      const name = scoreName(part, row, seed);
      if (existsSync(course.at("measured", `${name}.json`))) continue;
      yield note(`test ${paperTables[part].figure} of ${row.name}, seed ${seed}`);
      await course.remembered(name, async () => ({ score: await scoreOf(part, course.at(name)) }));
    }
  }
  return "finished";
}

async function scoreOf(part: SharePart, path: string): Promise<number> {
  if (part === "translation") return (await (await Run.open(path, "translate")).score("test")).bleu;
  return (await (await Run.open(path, "language")).evaluate({ split: "test" })).perplexity!;
}

async function figuresIn(course: Course): Promise<Omit<Outcome<ShareFigures>, "reason">> {
  const figures: Partial<Record<SharePart, ShareRow[]>> = {};
  const times = [];
  for (const part of parts) {
    if (!existsSync(course.at(part))) continue;
    const results = await figuresSoFar(await optionsOf(course, part));
    const rows: ShareRow[] = [];
    for (const result of results) rows.push({ ...result, score: await keptScores(course, part, result) });
    figures[part] = rows;
    times.push(
      await partTime(
        part,
        rows.flatMap((row) => runsOf(course, part, row)),
      ),
    );
  }
  return { figures: { translation: [], language: [], ...figures }, times };
}

async function keptScores(course: Course, part: SharePart, row: Contestant): Promise<Measured> {
  const scores: number[] = [];
  for (const seed of course.seeds) {
    const name = scoreName(part, row, seed);
    const isThere = existsSync(course.at("measured", `${name}.json`)) && existsSync(course.at(name, "config.yaml"));
    if (!isThere || (await summarise(course.at(name))).status !== "finished") continue;
    scores.push((await course.remembered(name, async () => ({ score: Number.NaN }))).score);
  }
  return spreadOf(scores);
}

/** The paper's row for one of ours: vanilla of the fewer layers is its vanilla 6/6, shared ones are its M/2M. */
function paperRow(part: SharePart, row: Contestant, first: Contestant): PaperRow | undefined {
  const kind = row.name.split(" ")[0]!;
  if (kind === "vanilla" && row !== first) return undefined;
  return paperTables[part].rows.find(({ name }) => name === `${kind} ${kind === "vanilla" ? "6/6" : "6/12"}`);
}

const named = (rows: readonly ShareRow[], mode: string) => rows.find(({ name }) => name.startsWith(`${mode} `));

function claimsOn(part: SharePart, rows: readonly ShareRow[]): Claim[] {
  const [base] = rows;
  if (!base) return [];
  const paper = (mode: string) => paperTables[part].rows.find(({ name }) => name.startsWith(`${mode} 6/`))!.figure;
  const isBetter = (one: Measured, other: Measured) => (part === "translation" ? above(one, other) : above(other, one));
  const what = part === "translation" ? "a higher BLEU" : "a lower perplexity";
  const better = modes.map((mode): Claim => {
    const row = named(rows, mode)!;
    const isEqual = row.parameters === base.parameters ? "as many" : "nearly as many";
    return {
      sentence: `${part}: ${row.name} has ${what} than ${base.name}, with ${isEqual} parameters`,
      paper: `${paper(mode)} against ${paper("vanilla")}`,
      ours: against(row.score, base.score),
      verdict: isBetter(row.score, base.score),
    };
  });
  return [...better, part === "translation" ? slowerClaim(rows, base) : weakestClaim(rows)];
}

function slowerClaim(rows: readonly ShareRow[], base: ShareRow): Claim {
  const speeds = modes.map((mode) => speedOf(named(rows, mode)!, base));
  const known = speeds.filter((speed) => speed !== null);
  return {
    sentence: `translation: shared layers train slower than ${base.name}, which runs half as many`,
    paper: "0.63 of its speed",
    ours: known.length === 0 ? "–" : `${known.map((speed) => speed.toFixed(2)).join(", ")} of its speed`,
    verdict: holds(known.length === speeds.length ? Math.max(...known) : null, (fastest) => fastest < 1),
  };
}

function weakestClaim(rows: readonly ShareRow[]): Claim {
  const [sequence, cycle, reversed] = modes.map((mode) => named(rows, mode)!.score);
  const next = sequence && cycle ? (cycle.mean > sequence.mean ? cycle : sequence) : null;
  return {
    sentence: "language: cycle_rev is the weakest of the three orders for language models",
    paper: "20.24 against 19.69 and 19.69",
    ours: against(reversed!, next),
    verdict: above(reversed!, next),
  };
}

const speedOf = (row: Result, base: Result) =>
  row.tokensPerSecond === null || !base.tokensPerSecond ? null : row.tokensPerSecond / base.tokensPerSecond;

const million = (value: number) => `${formatNumber(value / 1e6, 2)} M`;

const titles: Readonly<Record<SharePart, string>> = {
  translation: "Translation; depth counts encoder and decoder.",
  language: "Language model.",
};

function tableOn(part: SharePart, rows: readonly ShareRow[]): Block[] {
  const { task, figure, rows: theirs } = paperTables[part];
  if (rows.length === 0) return [{ type: "text", text: `${part}: not trained yet.` }];
  const base = rows[0]!;
  const speed = (value: number | null) => (value === null ? "–" : `${value.toFixed(2)}×`);
  const ofPaper = (paper: PaperRow | undefined) =>
    paper ? [`${paper.name}, ${paper.parameters}`, speed(paper.speed), `${paper.figure}`] : ["not at hand", "–", "–"];
  const lines = rows.map((row) => [
    row.name,
    million(row.parameters),
    `${row.executedDepth}`,
    million(row.flopsPerToken),
    row.tokensPerSecond === null ? "–" : formatNumber(row.tokensPerSecond, 0),
    speed(speedOf(row, base)),
    spreadText(row.perplexity),
    spreadText(row.score),
    ...ofPaper(paperRow(part, row, base)),
  ]);
  const taken = new Set(rows.map((row) => paperRow(part, row, base)?.name));
  const others = theirs
    .filter(({ name }) => !taken.has(name))
    .map((row) => ["not run", ...Array<string>(7).fill("–"), ...ofPaper(row)]);
  const head = [
    ...["model", "parameters", "depth", "FLOPs/token", "tokens/s", "speed", "valid perplexity", `test ${figure}`],
    ...["paper's model", "its speed", `its ${figure}`],
  ];
  const caption = `${titles[part]} Layers that own weights / layers that run; speed beside the first row; ± over seeds. Paper: ${task}${theirs.every((row) => row.speed === null) ? "; its speeds are not at hand" : ""}.`;
  return [{ type: "table", caption, head, rows: [...lines, ...others] }, changePicture(part, rows)];
}

/** Change against the first row in percent, ours with the deviation of a difference, beside the paper's. */
function changePicture(part: SharePart, rows: readonly ShareRow[]): Block {
  const [base, ...others] = rows;
  const { figure } = paperTables[part];
  const reference = paperRow(part, base!, base!)!.figure;
  return {
    type: "spreads",
    name: `share-${part}`,
    title: `${part === "translation" ? "Translation" : "Language model"}: change of test ${figure} against ${base!.name}`,
    axis: `% (${part === "translation" ? "higher" : "lower"} is better)`,
    reach: [0],
    names: ["here", "paper"],
    rows: others.map((row) => {
      const paper = paperRow(part, row, base!);
      return {
        name: row.name,
        ours: changeOf(row.score, base!.score),
        theirs: paper ? 100 * (paper.figure / reference - 1) : null,
      };
    }),
  };
}

function changeOf(score: Measured, base: Measured) {
  if (!score || !base || base.mean === 0) return null;
  const isSpread = score.deviation !== null && base.deviation !== null;
  const deviation = isSpread ? (100 * Math.hypot(score.deviation, base.deviation)) / base.mean : null;
  return { mean: 100 * (score.mean / base.mean - 1), deviation };
}

async function expected(course: Course) {
  const [shallow, deep] = rowsOf(course);
  const tried = [];
  for (const part of parts) {
    for (const [row, models] of [
      [shallow!, 1],
      [deep!, rowsOf(course).length - 1],
    ] as const) {
      const { unique, depth, share } = row;
      const settings = { ...(await settingsOf(course, part)), unique, depth, share };
      const { task: _, ...values } = settings;
      tried.push({ order: { task: tasks[part], settings: values }, count: models * course.seeds.length });
    }
  }
  return { tried, seconds: 0 };
}

const both = (folder: string, parts: readonly (readonly string[])[]) =>
  parts.flatMap((names) =>
    ["en", "de"].map((language) =>
      names.flatMap((name) => [`${folder}/${name}.${language}`, `${folder}/${name}.${language}.gz`]),
    ),
  );

/** The experiment. */
export const share: Experiment<ShareFigures> = {
  title: "Lessons on parameter sharing across layers, at laptop size",
  source:
    "Takase and Kiyono, Lessons on Parameter Sharing across Layers in Transformers, arXiv 2104.06022; its figures as reported there.",
  differences: () => [
    "The paper translates WMT English–German and models WikiText-103; here it is Multi30k English–German and WikiText-2, with models of 1.5 to 3 million parameters, half as deep.",
    "Vanilla of as many layers as the shared models run is not among the figures at hand; universal and the paper's 6/18 are not run.",
  ],
  tiny: "made pairs (words backwards), a few updates",
  needs: [
    {
      dataset: "multi30k",
      files: both("multi30k", [["train"], ["valid", "val", "dev"], ["test", "test_2016_flickr", "test2016"]]),
    },
    wikitext,
  ],
  expected,
  carryOut,
  claims: (figures) => parts.flatMap((part) => claimsOn(part, figures[part])),
  tables: (figures) => parts.flatMap((part) => tableOn(part, figures[part])),
};
