/** What the page and its worker say to each other. */

/** The three things depth can be. */
export type Exhibit = "share" | "search" | "adapt";

/** A run that an exhibit trains: the same name and settings mean the same run. */
export interface WantedRun {
  readonly name: string;
  readonly task: "language" | "search";
  readonly values: Readonly<Record<string, unknown>>;
}

/** A text by the name of its file. */
export interface NamedText {
  readonly name: string;
  readonly content: string;
}

/** What the worker is asked to do. */
export type Order =
  | { readonly type: "open"; readonly books: Readonly<Record<"train" | "valid" | "test", string>> }
  | { readonly type: "train"; readonly runs: readonly WantedRun[]; readonly text: NamedText; readonly sample?: string }
  | { readonly type: "stop" }
  | { readonly type: "report"; readonly plans: Readonly<Record<string, WantedRun["values"]>> }
  | { readonly type: "export"; readonly name: string; readonly as: ExportKind }
  | { readonly type: "write"; readonly name: string; readonly prompt: string }
  | { readonly type: "upload"; readonly bytes: Uint8Array; readonly file: string }
  | { readonly type: "remove"; readonly name: string };

export type ExportKind = "zip" | "safetensors" | "onnx";

/** Sizes of a model. */
export interface Report {
  readonly parameters: number;
  readonly flopsPerToken: number;
  readonly executedDepth: number;
  readonly uniqueBlocks: number;
}

/** π of a search at a step. */
export interface Frame {
  readonly step: number;
  readonly pattern: string;
  readonly choices: readonly { readonly names: readonly string[]; readonly probabilities: readonly number[] }[];
  /** By measured costs: on average over π, and of the pattern. */
  readonly expectedMs: number | undefined;
  readonly chosenMs: number | undefined;
}

/** A token and how many blocks it passed through. */
export interface TokenDepth {
  readonly text: string;
  readonly depth: number;
}

/** A run that the browser keeps. */
export interface KeptRun {
  readonly name: string;
  readonly step: number;
  readonly totalSteps: number | null;
  readonly status: "running" | "finished" | "stopped" | "killed";
  readonly loss: number | null;
}

/** What the worker tells. */
export type News =
  | { readonly type: "ready"; readonly engine: string; readonly threads: number; readonly notice: string | undefined }
  | { readonly type: "runs"; readonly runs: readonly KeptRun[] }
  | { readonly type: "doing"; readonly text: string }
  | {
      readonly type: "begin";
      readonly name: string;
      readonly totalSteps: number | null;
      readonly losses: readonly number[];
      readonly valid: readonly (readonly [step: number, loss: number])[];
      readonly frames: readonly Frame[];
    }
  | { readonly type: "step"; readonly name: string; readonly step: number; readonly loss: number; readonly ms: number }
  | { readonly type: "valid"; readonly name: string; readonly step: number; readonly loss: number }
  | { readonly type: "frame"; readonly name: string; readonly frame: Frame }
  | { readonly type: "depths"; readonly step: number; readonly cap: number; readonly tokens: readonly TokenDepth[] }
  | { readonly type: "end"; readonly name: string; readonly finished: boolean }
  | { readonly type: "idle" }
  | { readonly type: "report"; readonly reports: Readonly<Record<string, Report>> }
  | { readonly type: "file"; readonly name: string; readonly bytes: Uint8Array }
  | { readonly type: "written"; readonly text: string; readonly done: boolean }
  | { readonly type: "fault"; readonly message: string };
