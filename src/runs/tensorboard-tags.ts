/** What TensorBoard is shown of events and settings, and under which tags: a tag's group is what stands before its first stroke. */
import type { Picture } from "../format/png.ts";
import { ProtoWriter } from "../format/protobuf.ts";
import type { Choice } from "../train/events.ts";
import type { LoggedEvent } from "./event-log.ts";

/** A named drawing of a step. */
export type Drawing =
  | { readonly tag: string; readonly histogram: Float32Array }
  // Whoever draws brings the PNG, so that a run without pictures loads no encoder.
  | { readonly tag: string; readonly picture: Omit<Picture, "data">; readonly png: Uint8Array }
  /** Markdown. */
  | { readonly tag: string; readonly text: string };

/** Anything TensorBoard can show of a step. `plugin` speaks to one of its plug-ins in bytes of its own. */
export type Shown =
  | Drawing
  | { readonly tag: string; readonly scalar: number }
  | { readonly tag: string; readonly plugin: string; readonly content: Uint8Array };

type Scalars = Record<string, number>;

/** Tags of scalars that belong to a group; any other is in the group of its name: `accuracy/valid`. */
const GROUPED: Readonly<Record<string, string>> = {
  temperature: "search/temperature",
  expected_ms: "search/expected_ms",
  ponderScale: "depth/ponder_scale",
  ponder_cost: "depth/ponder_cost",
  depth: "depth/mean",
  "depth/all": "depth/mean",
};

function tagOf(name: string, split: string): string {
  const tag = GROUPED[name] ?? (name.includes("/") ? name.replaceAll(" ", "_") : undefined);
  if (tag === undefined) return `${name}/${split}`;
  return split === "train" || split === "valid" || split === "dev" ? tag : `${tag}/${split}`;
}

/** What an event shows; nothing for an end but that it came. `withPi`: where blocks have a choice, how probable each candidate is. */
export function shownOf(event: LoggedEvent, withPi = true): Shown[] {
  if (event.type === "end") return [ended(event.reason !== "stopped")];
  const figures = event.type === "step" ? stepFigures(event) : evaluationFigures(event);
  const pi = withPi ? piFigures(event.choices ?? []) : {};
  return Object.entries({ ...figures, ...pi }).map(([tag, scalar]) => ({ tag, scalar }));
}

function stepFigures(event: LoggedEvent & { type: "step" }): Scalars {
  return {
    "loss/train": event.loss,
    "perplexity/train": Math.exp(event.loss),
    "optimiser/learning_rate": event.learningRate,
    "optimiser/gradient_norm": event.gradientNorm,
    "speed/tokens_per_second": event.tokensPerSecond,
    ...tagged(event.scalars, "train"),
  };
}

function evaluationFigures(event: LoggedEvent & { type: "evaluation" }): Scalars {
  const { split, loss, perplexity, perplexityPerWord, bitsPerByte, latency } = event;
  const known = { loss, perplexity, perplexity_per_word: perplexityPerWord, bits_per_byte: bitsPerByte };
  return {
    ...tagged(known, split),
    ...(latency ? { "search/chosen_ms": latency.chosenMs } : {}),
    ...tagged(event.scalars, split),
  };
}

function tagged(scalars: Readonly<Record<string, number | undefined>> = {}, split: string): Scalars {
  const known = Object.entries(scalars).filter((entry): entry is [string, number] => entry[1] !== undefined);
  return Object.fromEntries(known.map(([name, value]) => [tagOf(name, split), value]));
}

/** `pi/block_1/attention`: blocks that are decided have nothing to show. */
function piFigures(choices: readonly Choice[]): Scalars {
  const shares = choices.flatMap(({ names, probabilities }, block) =>
    names.map((name, i) => [`pi/block_${block + 1}/${name.replaceAll(" ", "_")}`, probabilities[i]!] as const),
  );
  return Object.fromEntries(shares);
}

/** The tag under which a drawing of an older version is shown now. */
export const presentTag = (tag: string): string => (tag === "pi" ? "search/pi" : tag);

const SETTINGS_TAG = "settings";
const HPARAMS = "hparams";

/** Whether a tag is of what every file begins with. */
export const isOfSettings = (tag: string): boolean => tag === SETTINGS_TAG || tag.startsWith(`_${HPARAMS}_/`);

// Field numbers of tensorboard/plugins/hparams/plugin_data.proto and api.proto.
const DATA = { version: 1, experiment: 2, start: 3, end: 4 };
const EXPERIMENT = { hparam: 4, metric: 5 };
const HPARAM = { name: 1, type: 4 };
const HPARAM_TYPES = { string: 1, boolean: 2, number: 3 } as const;
const METRIC = { name: 1 };
const METRIC_NAME = { tag: 2 };
const START = { hparams: 1 };
const ENTRY = { key: 1, value: 2 };
const JSON_VALUE = { number: 2, string: 3, boolean: 4 } as const;
const END = { status: 1 };
const STATUS = { success: 1, running: 3 };

/** What the table of runs shows beside the settings. */
const METRICS = ["loss/valid", "perplexity/valid", "loss/train"];

function plugged(name: string, field: number, build: (writer: ProtoWriter) => void): Shown {
  const content = new ProtoWriter().integer(DATA.version, 0).message(field, build).finish();
  return { tag: `_${HPARAMS}_/${name}`, plugin: HPARAMS, content };
}

const ended = (isDone: boolean): Shown =>
  plugged("session_end_info", DATA.end, (end) => end.integer(END.status, isDone ? STATUS.success : STATUS.running));

type Plain = string | number | boolean;

/** The settings of a run as a table of TensorBoard's (hparams), and as a text. */
export function shownSettings(config: string): Shown[] {
  const settings = Object.entries(plainSettings(config));
  return [
    plugged("experiment", DATA.experiment, (experiment) => {
      for (const [key, value] of settings) {
        experiment.message(EXPERIMENT.hparam, (hparam) =>
          hparam.string(HPARAM.name, key).integer(HPARAM.type, HPARAM_TYPES[typeof value as "string"]),
        );
      }
      for (const tag of METRICS) {
        experiment.message(EXPERIMENT.metric, (metric) =>
          metric.message(METRIC.name, (name) => name.string(METRIC_NAME.tag, tag)),
        );
      }
    }),
    plugged("session_start_info", DATA.start, (start) => {
      for (const [key, value] of settings) {
        start.message(START.hparams, (entry) =>
          entry.string(ENTRY.key, key).message(ENTRY.value, (written) => writePlain(written, value)),
        );
      }
    }),
    { tag: SETTINGS_TAG, text: `\`\`\`yaml\n${config.trimEnd()}\n\`\`\`` },
  ];
}

function writePlain(writer: ProtoWriter, value: Plain): void {
  if (typeof value === "number") writer.double(JSON_VALUE.number, value);
  else if (typeof value === "boolean") writer.integer(JSON_VALUE.boolean, Number(value));
  else writer.string(JSON_VALUE.string, value);
}

const LINE = /^( *)([\w-]+):(?: (.*))?$/;

/** Settings with a value in their line, by their path; the library that reads all of YAML is too slow for the start of a run. */
function plainSettings(config: string): Record<string, Plain> {
  const found: Record<string, Plain> = {};
  let path: { indent: number; key: string }[] = [];
  for (const line of config.split("\n")) {
    const [, space, key, word] = LINE.exec(line) ?? [];
    if (space === undefined) continue;
    path = [...path.filter(({ indent }) => indent < space.length), { indent: space.length, key: key! }];
    if (word !== undefined && word !== "null") found[path.map((each) => each.key).join(".")] = plainValue(word);
  }
  return found;
}

function plainValue(word: string): Plain {
  if (word === "true" || word === "false") return word === "true";
  const number = Number(word);
  return word.trim() !== "" && Number.isFinite(number) ? number : word.replace(/^(["'])(.*)\1$/, "$2");
}
