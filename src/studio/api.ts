/**
 * What the studio's server and its page say to each other: types only, so that both sides can import them.
 *
 * Every answer is JSON, in the shapes of the commands' `--json` where there is one; numbers that JSON lacks are null. A refusal has a
 * status from 400 on and an `ApiError`. A request with a body sends `content-type: application/json`. Runs are named by `RunId`.
 */

import type { DepthRow, TokenDepth, TraceRow } from "../depth/tally.ts";
import type { CompareOrder, RetrainOrder } from "../sweep/order.ts";
import type { Cut } from "../tasks/search/cut.ts";

export type { Cut as SearchCut, DepthRow, TokenDepth };

/** Names a run or a folder in the index; the same as long as its path below the studio's folder is. */
export type RunId = string;

/** The body of every refusal. */
export interface ApiError {
  readonly error: {
    /** `bad-option`, `bad-file` … as LayerwiseError; `forbidden`, `not-found`, `conflict`, `too-large` from the server itself. */
    readonly code: string;
    /** A sentence for a person. */
    readonly message: string;
    readonly remedy?: string | undefined;
  };
}

/** `GET /api/about`. */
export interface About {
  /** Version of layerwise. */
  readonly version: string;
  /** The folder as the user named it. */
  readonly folder: string;
  readonly processor: string;
  /** Threads that a run takes where its settings do not say. */
  readonly threads: number;
  readonly tasks: readonly string[];
  /** Words that start a command, `layerwise` or `node dist/cli/main.js`. */
  readonly command: string;
}

/** `stopped` ended by its own will and can go on; `killed` did not; `damaged` cannot be read; `foreign` is no run of ours. */
export type Status = "running" | "finished" | "stopped" | "killed" | "damaged" | "foreign";

/** What can be done with a run. */
export type Use = "depth" | "generate" | "translate" | "fill" | "classify" | "search" | "resume" | "stop" | "retrain";

/** `language`, `translate`, `pretrain`, `finetune`, `imported`, `custom`, `search`, `seeds`, `retrain`; null where it is unknown. */
export type Kind = string | null;

/** The figure by which a run is judged. */
export interface BestFigure {
  /** `perplexity`, `loss`, or the name of the score that decides. */
  readonly name: string;
  readonly value: number | null;
  readonly step: number;
  readonly better: "lower" | "higher";
}

/** A row of the table of runs. What is not known, or not yet, is null. */
export interface RunRow {
  readonly id: RunId;
  /** Name of its folder. */
  readonly name: string;
  /** Where it lies below the studio's folder, with `/`; `.` for that folder itself. */
  readonly path: string;
  /** The folder of seeds that it belongs to, if any. */
  readonly parent: RunId | null;
  readonly kind: Kind;
  readonly status: Status;
  /** What is wrong with a damaged or foreign folder. */
  readonly fault: string | null;
  readonly uses: readonly Use[];
  /** Settings by name, inner ones with a dot (`training.rate`). */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly step: number;
  readonly totalSteps: number | null;
  readonly epoch: number | null;
  readonly lastLoss: number | null;
  readonly best: BestFigure | null;
  /** Median over steps at even distances. */
  readonly tokensPerSecond: number | null;
  readonly elapsedMs: number | null;
  /** Distinct parameters: shared ones count once. */
  readonly parameters: number | null;
  readonly uniqueBlocks: number | null;
  readonly executedDepth: number | null;
  /** Forward. Comes a little later than the rest, with an update. */
  readonly flopsPerToken: number | null;
  /** Losses of at most 24 steps at even distances. */
  readonly sparkline: readonly (number | null)[];
  readonly note: string;
  /** When its first and its last event came, in milliseconds since 1970. */
  readonly startedMs: number | null;
  readonly changedMs: number;
}

/** `GET /api/runs`. */
export interface RunList {
  readonly runs: readonly RunRow[];
  readonly jobs: readonly JobState[];
  /** All sweeps below the folder, the one that changed last first. */
  readonly sweeps: readonly SweepName[];
  /** True while runs are still being found: those that are missing come with updates of `/api/events?runs=1`. */
  readonly loading: boolean;
  /** True where the folder is deeper or larger than what was looked at. */
  readonly truncated: boolean;
}

/** `GET /api/runs/:id`. */
export interface RunDetail extends RunRow {
  /** The settings as config.yaml has them. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, unknown>>;
  readonly trainingFlopsPerToken: number | null;
  /** Which block runs at each depth, of models that share blocks. */
  readonly plan: readonly number[] | null;
  /** Blocks by letters, of Transformer-XLs: now, or as found. */
  readonly pattern: string | null;
  /** The kind of each block of that pattern: `attention`, `feed-forward`, `identity`, or a letter of the user's own. */
  readonly blocks: readonly string[] | null;
  readonly checkpoints: readonly { readonly step: number; readonly best: boolean }[];
  /** The end of log.txt. */
  readonly log: string;
  /** Commands that one may give next. */
  readonly next: readonly string[];
  /** The process that trains it. */
  readonly pid: number | null;
  /** Names of the metrics that it has a series of. */
  readonly metrics: readonly string[];
  readonly bytes: number;
}

/** What a series is drawn over: updates, minutes of training, tokens read. */
export type Axis = "step" | "minutes" | "tokens";

/** Points of one metric, by rising x. */
export interface Series {
  readonly x: readonly number[];
  /** Null: NaN or infinite. */
  readonly y: readonly (number | null)[];
}

/**
 * `GET /api/runs/:id/series?metrics=loss,valid/loss&x=step&points=800&from=0&to=500`.
 *
 * Metrics of steps: `loss`, `perplexity` (exp loss), `learningRate`, `gradientNorm`, `tokensPerSecond`, `epoch`, and a step's own scalars
 * by name, such as `temperature`. Metrics of evaluations begin with their split: `valid/loss`, `valid/perplexity`,
 * `valid/bitsPerByte`, `valid/expectedMs`, `valid/chosenMs`, `valid/depth/all` … Without `metrics`: all. A series of more than `points`
 * (default 800, at most 4,000) keeps the lowest and the highest of each part of it; `from` and `to` limit x.
 */
export interface SeriesAnswer {
  readonly id: RunId;
  readonly x: Axis;
  /** What the run can be drawn over: not all say how many tokens a step reads. */
  readonly axes: readonly Axis[];
  readonly metrics: readonly string[];
  readonly series: Readonly<Record<string, Series>>;
  /** Give it to `/api/events` to get what comes after these points. */
  readonly cursor: string;
}

/** π at an evaluation. */
export interface SearchFrame {
  readonly step: number;
  readonly minutes: number;
  readonly temperature: number | null;
  /** For every block its candidates' probabilities, in the order of `SearchData.candidates`; 0 for what was cut. */
  readonly probabilities: readonly (readonly number[])[];
  /** Candidates that are left, per block. */
  readonly left: readonly number[];
  readonly pattern: string | null;
  readonly perplexity: number | null;
  readonly expectedMs: number | null;
  readonly chosenMs: number | null;
}

/** A network by what it costs and predicts. */
export interface FrontPoint {
  readonly name: string;
  readonly source: "search" | "retrain" | "published";
  /** The run that it comes from. */
  readonly id: RunId | null;
  readonly pattern: string;
  /** Forward milliseconds: by this search's measured costs for published patterns, measured for retrained ones once that is done. */
  readonly ms: number | null;
  /** Null for a pattern that nobody trained here. */
  readonly perplexity: number | null;
  readonly parameters: number | null;
  /** The command that trains it. */
  readonly retrain: string;
  /** The same for `POST /api/start`. */
  readonly order: StartRequest;
}

/** What the search of one seed came to, or is at. */
export interface SeedState {
  readonly seed: number;
  readonly id: RunId;
  readonly status: Status;
  readonly step: number;
  readonly pattern: string | null;
  readonly perplexity: number | null;
  readonly ms: number | null;
  readonly withinBudget: boolean | null;
  readonly chosen: boolean;
  /** π at its last evaluation, as in a frame. */
  readonly probabilities: readonly (readonly number[])[] | null;
}

/** `GET /api/runs/:id/search`, of a search, a folder of seeds (then of its chosen or newest seed) or a retrained network. */
export interface SearchData {
  readonly id: RunId;
  /** The run that frames and cuts are of: of a folder of seeds the chosen or the newest one. */
  readonly shown: RunId;
  /** Everything each block could be. */
  readonly candidates: readonly (readonly string[])[];
  readonly frames: readonly SearchFrame[];
  readonly cuts: readonly Cut[];
  /** What the network may cost, in forward milliseconds. */
  readonly budgetMs: number | null;
  /** What was found; null while it runs. */
  readonly found: {
    readonly pattern: string;
    readonly perplexity: number | null;
    readonly chosenMs: number | null;
  } | null;
  readonly seeds: readonly SeedState[];
  readonly front: readonly FrontPoint[];
  readonly cursor: string;
}

/** A sweep below the folder. */
export interface SweepName {
  readonly id: RunId;
  readonly path: string;
  /** When a round or a trial of it last began or ended. */
  readonly changedMs: number;
}

/** One run of a sweep. */
export interface SweepTrialState {
  /** From 0: what `layerwise trial DIR INDEX` takes. */
  readonly index: number;
  readonly seed: number;
  /** Null until it has begun. */
  readonly id: RunId | null;
  readonly status: Status | "waiting" | "diverged";
  readonly step: number;
  readonly figure: number | null;
}

/** A candidate in a round, over its seeds. */
export interface SweepCandidate {
  /** From 0; only halving has several. */
  readonly round: number;
  readonly candidate: number;
  /** Null where candidates have none. */
  readonly name: string | null;
  /** The settings that vary. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Over the seeds that have finished. */
  readonly figure: {
    readonly mean: number;
    readonly deviation: number | null;
    readonly values: readonly number[];
  } | null;
  readonly trials: readonly SweepTrialState[];
}

/** `GET /api/sweeps/:id`: `layerwise sweep show --json`, with the ids of runs. */
export interface SweepAnswer {
  readonly id: RunId;
  readonly path: string;
  readonly task: string;
  readonly strategy: string;
  /** What decides, and which is best. */
  readonly figure: string;
  readonly goal: "lowest" | "highest";
  readonly seeds: readonly number[];
  /** Settings that vary, and whether they are drawn with an even logarithm. */
  readonly varies: readonly { readonly name: string; readonly log: boolean }[];
  /** The last round first, in it the best figure; those without a figure last. */
  readonly candidates: readonly SweepCandidate[];
  /** The best so far: the first with a figure. Final once no trial is waiting or running. */
  readonly best: number | null;
  /** Commands that one may give next. */
  readonly next: readonly string[];
}

/** `POST /api/runs/:id/depth`. */
export interface DepthRequest {
  readonly text: string;
}

/** The answer: `layerwise depth RUN --text … --json`, with halting probabilities. */
export interface DepthAnswer {
  readonly id: RunId;
  /** The checkpoint's step. */
  readonly step: number;
  /** The most iterations that a token can take. */
  readonly cap: number;
  /** Whether tokens see only those before them. */
  readonly causal: boolean;
  readonly text: string;
  readonly tokens: readonly TokenDepth[];
  readonly trace: readonly TraceRow[];
}

/**
 * `POST /api/runs/:id/depth/table`: text of the run (masked, of masked models) by kind of token, or, with the text of a CoNLL-U file, its sentences by part
 * of speech and relation.
 */
export interface DepthTableRequest {
  /** Most texts or sentences to read. Default: 64. */
  readonly texts?: number | undefined;
  readonly conllu?: string | undefined;
}

/** The tables, as `layerwise depth --json` names them. */
export interface DepthTables extends Pick<DepthAnswer, "id" | "step" | "cap" | "trace"> {
  readonly tables: Readonly<Partial<Record<"kinds" | "upos" | "deprel", readonly DepthRow[]>>>;
}

/** `POST /api/runs/:id/generate`; what is left out is as `layerwise generate` has it. */
export interface GenerateRequest
  extends Readonly<Partial<Record<"tokens" | "temperature" | "topK" | "topP" | "seed", number | undefined>>> {
  readonly prompt: string;
  readonly stop?: string | undefined;
  /** Transformer-XLs: read the prompt after what the page's last text left in the memory. Default: forget it first. */
  readonly keepMemory?: boolean | undefined;
}

/** The answer is a stream of lines (`application/x-ndjson`), each one of these. Close the connection to stop. */
export type GenerateLine =
  | {
      readonly type: "begin";
      readonly id: RunId;
      readonly step: number;
      /** Most depths, where tokens halt by themselves. */
      readonly cap: number | null;
      /** Steps of memory, of Transformer-XLs. */
      readonly memory: number | null;
    }
  | {
      readonly type: "token";
      /** What it adds to the text; may be empty, where a character is not whole yet. */
      readonly text: string;
      readonly piece: string;
      /** What the model gave it, before temperature, top-k and top-p. */
      readonly probability: number;
      /** Depths that the position it was predicted from ran, where tokens halt by themselves. */
      readonly depth: number | null;
      /** Steps of the memory in use, of Transformer-XLs. */
      readonly memory: number | null;
    }
  | { readonly type: "end"; readonly text: string; readonly tokens: number; readonly tokensPerSecond: number }
  | ({ readonly type: "error" } & ApiError);

/** `POST /api/runs/:id/translate`. */
export interface TranslateRequest {
  readonly lines: readonly string[];
  readonly beam?: number | undefined;
  readonly lengthPenalty?: number | undefined;
}

/** `{translations}`, as the command's. */
export interface TranslateAnswer {
  readonly translations: readonly string[];
}

/** `POST /api/runs/:id/fill`: the likeliest pieces for each `[MASK]` of a text. */
export interface FillRequest {
  readonly text: string;
  /** Pieces per mask. Default: 8. */
  readonly top?: number | undefined;
}

/** The masks in their order. */
export interface FillAnswer {
  readonly masks: readonly {
    readonly guesses: readonly { readonly piece: string; readonly probability: number }[];
    /** Iterations that the place took. */
    readonly depth: number | null;
  }[];
}

/** `POST /api/runs/:id/classify`. */
export interface ClassifyRequest {
  readonly text: string;
  /** The second text, of tasks on pairs. */
  readonly second?: string | undefined;
}

/** What a fine-tuned model says. */
export interface ClassifyAnswer {
  readonly task: string;
  /** The likeliest class, all likely ones with commas between where a text may have several, or the number. */
  readonly label: string | number;
  /** Probabilities by class; none where the label is a number. */
  readonly scores: Readonly<Record<string, number>>;
  readonly depths: readonly { readonly piece: string; readonly depth: number }[] | null;
}

/** `GET /api/tasks`: what can be started, with JSON Schema (as `layerwise schema --json`), whose `x-group` is a heading. */
export interface TaskList {
  readonly tasks: readonly {
    /** `language`, `translate`, `search`, `pretrain`, `finetune`. */
    readonly task: string;
    /** The command, such as `train`. */
    readonly command: string;
    readonly schema: Readonly<Record<string, unknown>>;
    readonly defaults: Readonly<Record<string, unknown>>;
    readonly presets: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  }[];
  /** Rows that a comparison of sharing may have: `vanilla 6/6` … */
  readonly contestants: readonly string[];
  /** Tasks of GLUE, for `finetune`. */
  readonly glueTasks: readonly string[];
  /** Patterns by name, for `retrain`. */
  readonly patterns: Readonly<Record<string, string>>;
}

/** `POST /api/dry-run` and `POST /api/start`: what to start, as one of these. */
export type StartRequest = {
  /** Name of the new folder below the studio's; letters, digits, `-`, `_`, `.`. Default: the next free one. */
  readonly name?: string | undefined;
  readonly preset?: string | undefined;
  /** What differs from preset and defaults. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
} & (
  | { readonly task: "language" | "translate" | "pretrain" }
  /** `seeds`: 3, or `1,5,9`. */
  | { readonly task: "search"; readonly seeds?: string | undefined }
  /** `from`: a pre-trained or imported run. */
  | { readonly task: "finetune"; readonly glueTask: string; readonly from?: RunId | undefined }
  /** `of`: a search; or a `pattern`, with the settings of the run `of` where that is given too. `preset` is not for it. */
  | ({
      readonly of?: RunId | undefined;
      readonly pattern?: string | undefined;
    } & Pick<RetrainOrder, "task" | "fromSupernet" | "baseline">)
  | CompareOrder
);

/** The answer of `POST /api/dry-run`; nothing is written. */
export interface DryRun {
  /** What to type for the same. */
  readonly command: string;
  /** As `--dry-run` prints them: data, model, memory, measured step, estimated time. */
  readonly facts: readonly { readonly what: string; readonly value: string }[];
}

/** A process that the studio started. */
export interface JobState {
  readonly id: string;
  readonly what: "start" | "resume" | "compare";
  /** `opening`: it reads data and compiles, there is no run yet. */
  readonly state: "opening" | "running" | "ended" | "failed";
  readonly pid: number;
  /** Where it goes, below the studio's folder. */
  readonly path: string;
  /** The run, once it is in the index. */
  readonly run: RunId | null;
  readonly command: string;
  /** The end of what it said, or what went wrong. */
  readonly said: string;
  readonly startedMs: number;
}

/** `POST /api/start` and `POST /api/runs/:id/resume` (without a body) answer 202 with this. */
export interface Started {
  readonly job: JobState;
}

/** `POST /api/runs/:id/stop` (without a body): the run ends after its step, with a checkpoint; the row says when. */
export interface Stopping {
  readonly stopping: true;
  readonly pid: number;
}

/** `PUT /api/runs/:id/note`, and its answer. */
export interface Note {
  /** At most 10,000 characters; empty removes it. */
  readonly note: string;
}

/** `GET /api/compare?ids=a,b,c`: as `layerwise runs compare --json`. */
export interface CompareAnswer {
  readonly runs: readonly RunRow[];
  /** Settings that differ: a value per run, null where a run has none. */
  readonly differences: Readonly<Record<string, readonly unknown[]>>;
}

/** A row of the table of sharing: as in `layerwise compare --json`, as far as its runs are. */
export interface SharingRow {
  readonly name: string;
  readonly unique: number | null;
  readonly depth: number | null;
  readonly share: string | null;
  readonly parameters: number | null;
  readonly executedDepth: number | null;
  readonly flopsPerToken: number | null;
  readonly tokensPerSecond: number | null;
  readonly perplexity: {
    readonly mean: number;
    readonly deviation: number | null;
    readonly values: readonly number[];
  } | null;
  readonly seconds: number | null;
  /** Its runs, one per seed; only finished ones count in the figures. */
  readonly runs: readonly {
    readonly id: RunId;
    readonly seed: number;
    readonly status: Status;
    readonly step: number;
  }[];
}

/** `GET /api/sharing`: the folders that `layerwise compare` fills. */
export interface SharingAnswer {
  readonly comparisons: readonly {
    readonly path: string;
    readonly task: string;
    readonly rows: readonly SharingRow[];
  }[];
}

/**
 * `GET /api/events?runs=1&run=ID@CURSOR&run=ID2&metrics=loss,valid/loss&x=step&frames=1&log=1`: one stream of server-sent events a page.
 *
 * `runs=1`: rows and sweeps that change. `run`: what is new in these runs (at most 16), after the cursor of their series or search, or from now
 * on. `metrics` and `x` as in a series. `frames=1`: π of those runs; `log=1`: their logs. Messages have the event name `update`, come at
 * most four times a second, and are `Update`s; comments keep the connection alive. After a reconnection, fetch again.
 */
export interface Update {
  /** Rows that are new or changed. */
  readonly runs?: readonly RunRow[] | undefined;
  /** Rows that are gone. */
  readonly removed?: readonly RunId[] | undefined;
  readonly jobs?: readonly JobState[] | undefined;
  /** All sweeps, where one came, went or changed. */
  readonly sweeps?: readonly SweepName[] | undefined;
  /** New points, by run and metric. */
  readonly points?: Readonly<Record<RunId, Readonly<Record<string, Series>>>> | undefined;
  readonly frames?: Readonly<Record<RunId, readonly SearchFrame[]>> | undefined;
  /** Text added to logs. */
  readonly log?: Readonly<Record<RunId, string>> | undefined;
  /** Runs that were set back to an earlier step: fetch their series again. */
  readonly reset?: readonly RunId[] | undefined;
}
