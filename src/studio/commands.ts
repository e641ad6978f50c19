/** Orders of the page as orders for a process, and as the command that one would type instead. */
import { existsSync } from "node:fs";
import { join, sep } from "node:path";
import { messageOf } from "../base/errors.ts";
import { parsePattern, printPattern } from "../depth/index.ts";
import { freeName } from "../files/text.ts";
import { flagOf } from "../runs/names.ts";
import type { TaskOrder } from "../sweep/index.ts";
import { settingsNamed } from "../tasks/index.ts";
import { nextWords } from "../tasks/next-words.ts";
import { parseSeeds } from "../tasks/search/index.ts";
import type { RunDetail, StartRequest } from "./api.ts";
import { Refusal } from "./refusal.ts";
import type { Entry, RunIndex } from "./run-index.ts";

const TOKENIZER = "tokenizer.model";

/** An order with where it goes. */
export interface Prepared {
  readonly order: TaskOrder;
  /** Below the studio's folder. */
  readonly path: string;
  readonly command: string;
}

const prefixes: Readonly<Record<StartRequest["task"], string>> = {
  language: "",
  translate: "",
  pretrain: "",
  search: "search-",
  finetune: "glue-",
  retrain: "retrain-",
  compare: "compare-",
};

/** What a request stands for; runs in it are named by their ids, and settings are checked before any process starts. */
export async function prepare(request: StartRequest, index: RunIndex, program: string): Promise<Prepared> {
  const order = await orderOf(request, index);
  const path = request.name ?? freeName(index.folder, prefixes[request.task]);
  const words = [...(await wordsOf(order)).map((word) => shownIn(index, word)), "--out", join(index.shown, path)];
  return { order, path, command: [program, ...words.map(quoted)].join(" ") };
}

/** Folders below the studio's as the user names them. */
const shownIn = (index: RunIndex, word: string) =>
  word.startsWith(`${index.folder}${sep}`) ? join(index.shown, index.relative(word)) : word;

async function orderOf(request: StartRequest, index: RunIndex): Promise<TaskOrder> {
  const { name: _, preset, settings: given = {}, ...rest } = request;
  const settings = await checked(rest.task === "compare" ? rest.of : rest.task, preset, withRuns(given, index));
  const base = { preset, settings };
  switch (rest.task) {
    case "search":
      return { ...base, task: "search", seeds: rest.seeds === undefined ? undefined : parseSeeds(rest.seeds) };
    case "finetune":
      return { ...base, ...rest, from: rest.from === undefined ? undefined : index.entry(rest.from).path };
    case "retrain": {
      const { of, pattern, fromSupernet, baseline } = rest;
      const like = of === undefined ? undefined : index.run(of);
      return {
        task: "retrain",
        preset,
        source: pattern === undefined ? sourceIn(like) : printed(pattern),
        settings: like && pattern !== undefined ? { ...(await settingsLike(like)), ...settings } : settings,
        fromSupernet,
        baseline,
      };
    }
    default:
      return { ...base, ...rest };
  }
}

function sourceIn(search: Entry | undefined): string {
  return search?.path ?? refuse("retrain: expected a search or a pattern");
}

function refuse(message: string): never {
  throw new Refusal(400, "bad-option", message);
}

/** Letters only: a path would be read wherever it leads. */
function printed(pattern: string): string {
  try {
    return printPattern(parsePattern(pattern));
  } catch (error) {
    return refuse(`pattern: ${messageOf(error)}`);
  }
}

/** What another run was told, as far as a network is told it, where it differs from the default; its tokenizer is the one it keeps. */
async function settingsLike({ path, glance }: Entry): Promise<Record<string, unknown>> {
  const { defaults } = await settingsNamed("retrain");
  const usual = defaults as Readonly<Record<string, unknown>>;
  const told = Object.entries(glance?.config ?? {}).filter(
    ([key, value]) => key in usual && JSON.stringify(value) !== JSON.stringify(usual[key]),
  );
  const kept = join(path, TOKENIZER);
  const { pieces, ...settings } = Object.fromEntries(told);
  if (existsSync(kept)) return { ...settings, tokenizer: kept };
  return pieces === undefined ? settings : { ...settings, pieces };
}

/** Weights to begin with come from a run of the index, by its id. */
function withRuns(settings: Readonly<Record<string, unknown>>, index: RunIndex): Record<string, unknown> {
  const { init, ...others } = settings;
  if (init === undefined || init === null) return { ...settings };
  if (!index.has(String(init))) throw new Refusal(400, "bad-option", "init: expected the id of a run");
  return { ...others, init: index.entry(String(init)).path };
}

/** The settings, refused here where a process would refuse them. */
async function checked(task: string, preset: string | undefined, settings: Record<string, unknown>) {
  const schema = await settingsNamed(task === "retrain" ? "search" : task);
  if (preset !== undefined) schema.preset(preset);
  return schema.check(settings, "settings") as Record<string, unknown>;
}

const commandWords: Readonly<Record<string, readonly string[]>> = {
  language: ["train"],
  translate: ["train", "--task", "translate"],
  pretrain: ["pretrain"],
  search: ["search"],
};

function firstWords(order: TaskOrder): readonly string[] {
  switch (order.task) {
    case "finetune":
      return ["glue", order.glueTask, ...(order.from === undefined ? ["--scratch"] : ["--from", order.from])];
    case "retrain":
      return [
        "retrain",
        order.source,
        ...(order.fromSupernet ? ["--from-supernet"] : []),
        ...(order.baseline === false ? ["--no-baseline"] : []),
      ];
    case "compare":
      return [
        "compare",
        ...(order.of === "translate" ? ["--task", "translate"] : []),
        ...["--seeds", `${order.seeds}`],
        ...(order.only ? ["--only", order.only.join(",")] : []),
      ];
    case "search":
      return ["search", ...(order.seeds === undefined ? [] : ["--seeds", `${order.seeds}`])];
    default:
      return commandWords[order.task]!;
  }
}

async function wordsOf(order: TaskOrder): Promise<string[]> {
  const task = order.task === "compare" ? order.of : order.task;
  const schema = await settingsNamed(task === "retrain" ? "search" : task);
  const infos = new Map(schema.describe().map((info) => [info.key, info]));
  const flags = Object.entries(order.settings).flatMap(([key, value]) => {
    const flag = flagOf(key).slice(2);
    const { kind, show, value: usual } = infos.get(key)!;
    if (kind === "switch") return [value ? `--${flag}` : `--no-${flag}`];
    if (value === null) return usual === null ? [] : [`--no-${flag}`];
    return [`--${flag}`, show(value)];
  });
  return [...firstWords(order), ...(order.preset === undefined ? [] : ["--preset", order.preset]), ...flags];
}

/** As a shell takes it. */
export const quoted = (word: string) => (/^[\w./:,=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** Commands for a run as it is. */
export function nextCommands(
  { kind, status, path, config }: Pick<RunDetail, "kind" | "status" | "path" | "config">,
  index: RunIndex,
  program: string,
): string[] {
  const run = quoted(join(index.shown, path));
  const goesOn = status === "stopped" || status === "killed";
  const words = goesOn ? ["resume RUN", "runs show RUN"] : nextWords(kind, config);
  return words.map((each) => `${program} ${each.replace("RUN", run)}`);
}
