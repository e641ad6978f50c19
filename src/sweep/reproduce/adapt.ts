/** Simoulin & Crabbé: an ALBERT whose tokens halt by themselves, how deep each kind of token runs, and a fine-tuning of it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { spreadOf } from "../../base/spread.ts";
import type { Values } from "../../runs/settings.ts";
import { type RunSummary, summarise } from "../../runs/summary.ts";
import type { Block } from "../../tasks/papers/report.ts";
import { pretrainSettings } from "../../tasks/pretrain/settings.ts";
import { Run } from "../../tasks/run.ts";
import { TOKEN_KINDS, type TokenKind } from "../../text/masked/token-kinds.ts";
import type { SweepEvent } from "../launcher.ts";
import type { SweepResult } from "../sweep.ts";
import { above, against, type Claim, type Measured, spreadText } from "./claims.ts";
import { type Course, type Experiment, note, type Outcome, partTime, type ReproducePreset } from "./course.ts";
import { makeSentences } from "./made-texts.ts";
import { wikitext } from "./needs.ts";

/** Depths by kind of token over seeds, what was guessed, and the fine-tuning. */
export interface AdaptFigures {
  /** The most iterations. */
  readonly cap: number | null;
  readonly depths: Readonly<Record<TokenKind, Measured>>;
  /** Masked words that are guessed, in per cent. */
  readonly maskedAccuracy: Measured;
  /** Orders of sentences that are guessed, in per cent. */
  readonly orderAccuracy: Measured;
  /** Of the dev text, in per cent, and the mean depth of its tokens. */
  readonly finetuned: { readonly accuracy: Measured; readonly depth: Measured };
}

/** A model of the paper. */
interface PaperModel {
  readonly name: string;
  readonly cap: number;
  readonly maskedAccuracy: number;
  readonly orderAccuracy: number;
  readonly depths: Readonly<Record<TokenKind, number>>;
}

const depthsOf = (...depths: readonly number[]) =>
  Object.fromEntries(TOKEN_KINDS.map((kind, i) => [kind, depths[i]!])) as PaperModel["depths"];

/** The table of mean iterations as the paper's project reports it. */
export const paperModels: readonly PaperModel[] = [
  {
    name: "tiny",
    cap: 6,
    maskedAccuracy: 55.4,
    orderAccuracy: 80.9,
    depths: depthsOf(3.8, 3.5, 5.8, 5.8, 4.0, 6.0, 2.5),
  },
  {
    name: "small",
    cap: 12,
    maskedAccuracy: 57.1,
    orderAccuracy: 83.9,
    depths: depthsOf(7.1, 6.5, 10.9, 10.9, 7.4, 12.0, 7.6),
  },
  {
    name: "base",
    cap: 24,
    maskedAccuracy: 57.4,
    orderAccuracy: 84.3,
    depths: depthsOf(10.0, 9.2, 16.0, 16.0, 10.5, 22.5, 8.4),
  },
];

interface Recipe {
  readonly pretraining: { readonly preset: string; readonly settings: Values };
  readonly finetuning: Values;
  /** Masked texts whose depths are read. */
  readonly texts: number;
}

/** Some 15 minutes of one core, counted in updates: the figures are the same on a busy machine. Depths have their order by then. */
const LAPTOP = { steps: 1200, longLength: null, minutes: null, epochs: null };

const recipes: Readonly<Record<ReproducePreset, Recipe>> = {
  tiny: {
    pretraining: {
      preset: "trial",
      settings: { steps: 6, evaluateEvery: 6, evaluateTexts: 8, checkpointEvery: 3, keep: 1 },
    },
    finetuning: { length: 32, batch: 8, epochs: 1, checkpointEvery: 2, keep: 1 },
    texts: 32,
  },
  laptop: {
    pretraining: {
      preset: "laptop",
      settings: { corpus: "wikitext-2", sentenceOrder: true, packed: false, ...LAPTOP, keep: 1 },
    },
    finetuning: { examples: 20_000, epochs: 1, length: 64, rate: 0.001, keep: 1 },
    texts: 512,
  },
};

const TASK = "SST-2";
const pretrainedRun = (course: Course, seed: number) => course.at("pretraining", `seed-${seed}`);
/** Each fine-tuning begins with the pre-training of its own seed, so it is a sweep of its own. */
const finetuning = (seed: number) => join("finetuning", `from-${seed}`);
const finetunedRun = (course: Course, seed: number) => course.at(finetuning(seed), `seed-${seed}`);

async function* carryOut(course: Course): AsyncGenerator<SweepEvent, Outcome<AdaptFigures>, void> {
  const reason = yield* trained(course);
  return { reason, ...(await figuresIn(course)) };
}

async function* trained(course: Course): AsyncGenerator<SweepEvent, SweepResult["reason"], void> {
  const { pretraining, finetuning: tuning, texts } = recipes[course.preset];
  const { preset, settings } = pretraining;
  const all = { task: "pretrain", preset, settings: { ...settings, ...course.shared }, seeds: course.seeds };
  yield note(`pre-training, ${course.seeds.length} seeds`);
  const pretrained = yield* course.sweep("pretraining", all);
  if (pretrained.reason !== "finished") return pretrained.reason;
  const glue = course.at("data", "glue");
  if (course.preset === "tiny") await makeSentences(join(glue, TASK));
  for (const seed of course.seeds) {
    if (course.signal.aborted) return "stopped";
    const from = pretrainedRun(course, seed);
    await course.remembered(`depths-${seed}`, () => depthsIn(from, texts));
    yield note(`fine-tuning on ${TASK}, from the pre-training of seed ${seed}`);
    const own = { ...tuning, ...course.shared, ...(course.preset === "tiny" ? { glue } : {}) };
    const spec = { task: "finetune", glueTask: TASK, from, settings: own, seeds: [seed] };
    const { reason } = yield* course.sweep(finetuning(seed), spec);
    if (reason !== "finished") return reason;
  }
  return "finished";
}

/** How deep each kind of token of masked valid text ran. */
async function depthsIn(path: string, texts: number) {
  const run = await Run.open(path, "pretrain");
  const { kinds } = await run.depthsByKind({ texts });
  return { cap: run.model.policy.depth, kinds: kinds.map(({ name, mean, tokens }) => ({ name, mean, tokens })) };
}

type Depths = Awaited<ReturnType<typeof depthsIn>>;

async function figuresIn(course: Course): Promise<Omit<Outcome<AdaptFigures>, "reason">> {
  const read: Depths[] = [];
  for (const seed of course.seeds) {
    if (existsSync(course.at("measured", `depths-${seed}.json`))) {
      read.push(await course.remembered(`depths-${seed}`, () => Promise.reject(new Error("it is there"))));
    }
  }
  const [pretrained, tuned] = [pretrainedRun, finetunedRun].map((run) => course.seeds.map((seed) => run(course, seed)));
  const [models, classifiers] = [await finished(pretrained!), await finished(tuned!)];
  const depth = (kind: TokenKind) =>
    spreadOf(read.flatMap(({ kinds }) => kinds.find(({ name }) => name === kind)?.mean ?? []));
  const figures = {
    cap: read[0]?.cap ?? null,
    depths: Object.fromEntries(TOKEN_KINDS.map((kind) => [kind, depth(kind)])) as AdaptFigures["depths"],
    maskedAccuracy: figureOf(models, "mlm_accuracy", 100),
    orderAccuracy: figureOf(models, "sop_accuracy", 100),
    finetuned: { accuracy: figureOf(classifiers, "accuracy", 100), depth: figureOf(classifiers, "depth") },
  };
  return { figures, times: [await partTime("pre-training", pretrained!), await partTime("fine-tuning", tuned!)] };
}

async function finished(runs: readonly string[]): Promise<RunSummary[]> {
  const summaries: RunSummary[] = [];
  for (const run of runs) if (existsSync(join(run, "config.yaml"))) summaries.push(await summarise(run));
  return summaries.filter(({ status }) => status === "finished");
}

/** A figure of the best evaluation, over runs. */
const figureOf = (runs: readonly RunSummary[], name: string, factor = 1): Measured =>
  spreadOf(runs.flatMap(({ best }) => (best?.scalars?.[name] === undefined ? [] : factor * best.scalars[name])));

/** Which kind runs deeper than which, and what the report says of the paper's figures besides. */
const orders: readonly (readonly [deeper: TokenKind, than: TokenKind, remark?: string])[] = [
  ["[MASK/MASK]", "unmasked"],
  ["[MASK/MASK]", "[MASK/random]", "; its row of random words counts [MASK]s too"],
  ["[MASK/random]", "unmasked"],
  ["[MASK/random]", "[MASK/original]"],
  ["[MASK/original]", "unmasked"],
];

function claimsOn({ depths }: AdaptFigures): Claim[] {
  return orders.map(([deeper, than, remark = ""]) => {
    const paper = paperModels.map(
      (model) => `${model.depths[deeper].toFixed(1)} against ${model.depths[than].toFixed(1)}`,
    );
    return {
      sentence: `${deeper} runs deeper than ${than}`,
      paper: `${paper.join(", ")}${remark}`,
      ours: against(depths[deeper], depths[than]),
      verdict: above(depths[deeper], depths[than]),
    };
  });
}

function tablesOn({ cap, depths, maskedAccuracy, orderAccuracy, finetuned }: AdaptFigures): Block[] {
  const row = (name: string, of: (model: PaperModel) => number, ours: Measured, digits = 2) => {
    return [name, ...paperModels.map((model) => of(model).toFixed(1)), spreadText(ours, digits)];
  };
  const rows = [
    ["most iterations", ...paperModels.map((model) => `${model.cap}`), `${cap ?? "–"}`],
    row("masked words guessed, %", (model) => model.maskedAccuracy, maskedAccuracy, 1),
    row("order of sentences guessed, %", (model) => model.orderAccuracy, orderAccuracy, 1),
    ...TOKEN_KINDS.map((kind) => row(kind, (model) => model.depths[kind], depths[kind])),
  ];
  const head = ["", ...paperModels.map(({ name }) => `paper, ${name}`), "here"];
  const caption = "Mean iterations by kind of token in masked text; ± over seeds.";
  const tuned = [[TASK, "not at hand", spreadText(finetuned.accuracy, 1), "not at hand", spreadText(finetuned.depth)]];
  return [
    { type: "table", caption, head, rows },
    depthPicture(cap, depths),
    {
      type: "table",
      caption: "Fine-tuned, on the dev text; ± over seeds, each from the pre-training of its own.",
      head: ["task", "its accuracy", "accuracy, %", "its mean depth", "mean depth"],
      rows: tuned,
    },
  ];
}

/** As shares of the most iterations: those of the paper's tiny model, whose cap is ours, and our own. */
function depthPicture(cap: number | null, depths: AdaptFigures["depths"]): Block {
  const [tiny] = paperModels;
  const share = (depth: Measured) =>
    depth && cap
      ? { mean: depth.mean / cap, deviation: depth.deviation === null ? null : depth.deviation / cap }
      : null;
  return {
    type: "spreads",
    name: "adapt-depths",
    title: "Mean depth by kind of token, as a share of the most iterations",
    axis: "share of the most iterations",
    reach: [0, 1],
    names: ["here", `paper, ${tiny!.name}`],
    rows: TOKEN_KINDS.map((kind) => {
      return { name: kind, ours: share(depths[kind]), theirs: tiny!.depths[kind] / tiny!.cap };
    }),
  };
}

/** Pre-trainings; what fine-tunings take shows only once there is something to begin with. */
async function expected(course: Course) {
  const { preset, settings } = recipes[course.preset].pretraining;
  const order = { task: "pretrain" as const, preset, settings: { ...settings, ...course.shared } };
  return { tried: [{ order, count: course.seeds.length }], seconds: 0 };
}

/** How large we are, from the settings themselves. */
function sizeText(name: ReproducePreset): string {
  const { preset, settings } = recipes[name].pretraining;
  const layers = [pretrainSettings.preset(preset), { source: "reproduce adapt", values: settings }];
  const { width, steps, corpus, maskShare } = pretrainSettings.resolve(layers);
  return `The paper pre-trains models of width 768 on some 59 billion tokens; here one of width ${width} trains for ${steps} updates per seed on ${corpus}, with ${Math.round(100 * maskShare)} % of the tokens to predict.`;
}

/** The experiment. */
export const adapt: Experiment<AdaptFigures> = {
  title: "How many layers and why, at laptop size",
  source:
    "Simoulin and Crabbé, How Many Layers and Why? An Analysis of the Model Depth in Transformers, ACL-IJCNLP 2021 Student Research Workshop; mean iterations as its project adaptive-depth-transformers reports them.",
  differences: (preset) => [
    sizeText(preset),
    "The paper's row [MASK/random] counts [MASK]s too, by a slip of its code, and so equals [MASK/MASK]; here it has random words only. Unmasked is all that does not show [MASK], as in the paper.",
    "Figures of the paper's fine-tunings are not at hand.",
  ],
  tiny: "six updates on the embedded books, made labels",
  needs: [wikitext, { dataset: "glue", files: ["train", "dev"].map((part) => [join("glue", TASK, `${part}.tsv`)]) }],
  expected,
  carryOut,
  claims: claimsOn,
  tables: tablesOn,
};
