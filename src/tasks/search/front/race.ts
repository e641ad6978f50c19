/** A race of a front's best networks within a budget and its regular one: all are trained side by side, and after each stretch the better ones go on. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { reject } from "../../../base/errors.ts";
import { table } from "../../../base/table.ts";
import { parsePattern } from "../../../depth/pattern.ts";
import type { Engine } from "../../../engine/engine.ts";
import { RunFolder } from "../../../runs/folder.ts";
import type { NoteEvent, TaskEvent } from "../../job.ts";
import { openSearch } from "../parts.ts";
import type { RetrainRequest } from "../retrain.ts";
import type { SearchConfig } from "../settings.ts";
import { contendersWithin, type Front, type FrontNetwork, regularWithin } from "./front.ts";
import { trainedNetwork, type Wanted } from "./wanted.ts";

/** Networks of one budget, trained side by side. */
export interface RaceOptions {
  /** How many of the supernet's best begin, beside the regular one. */
  readonly contenders: number;
  /** What they may cost, in ms. */
  readonly most: number;
  /** In the supernet; null where it was not measured. */
  perplexityOf(pattern: string): number | null;
}

/** A network of a race. */
export interface RacedRow {
  readonly name: string;
  readonly pattern: string;
  /** Forward milliseconds by measured costs, and what that is of the (sf)-baseline's. */
  readonly ms: number;
  readonly ratio: number;
  /** Null for a network that was not ranked, or is none of the supernet's. */
  readonly supernetPerplexity: number | null;
  /** By which it was judged after each stretch it took part in: the mean training loss of its last quarter, and what is added for blocks it skips. */
  readonly losses: readonly number[];
}

/** After these fractions of the updates a third of the networks goes on, and in the end one. */
const STRETCHES = [0.2, 0.4];
const GO_ON = 1 / 3;

/**
 * What is added to a loss, in nats per block that a network skips, at first; it falls to 0 with the updates. Shallow networks learn
 * faster and end worse; docs/log.md has the curves. Networks that begin with feed-forward do so, too, for some 200 updates: hence the
 * last quarter of a stretch.
 */
const SKIPPED = 0.004;

interface Contender extends Wanted {
  readonly network: Pick<FrontNetwork, "ms" | "ratio">;
  readonly run: string;
  readonly losses: number[];
}

/** What a race ends with: how it went, and the network that won it; none where it was stopped. */
export interface Raced {
  readonly race: readonly RacedRow[];
  readonly winner: Wanted | undefined;
}

type Racing = RetrainRequest & { readonly given: { readonly engine: Engine } };

/** Carries a race out; what its folder has already goes on or counts as it is. */
export async function* racing(
  front: Front,
  settings: SearchConfig,
  request: Racing,
  options: RaceOptions,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, Raced, void> {
  const { contenders: count } = options;
  const all = contendersOf(front, request.path, options);
  const ranked = all.filter(({ name }) => name !== REGULAR).length;
  if (ranked < count)
    yield note(`--race ${count}: ${ranked} networks of the front keep to the budget; all of them race`);
  const total = await updatesOf(all[0]!, settings, request);
  let left: readonly Contender[] = all;
  let from = 0;
  for (const [i, fraction] of STRETCHES.entries()) {
    if (left.length === 1) break;
    const to = Math.max(from + 1, Math.round(fraction * total));
    yield note(`${left.length} networks race to update ${to} of ${total}`);
    for (const each of left) yield* trainedUpTo(each, to, settings, request, signal);
    if (signal.aborted) return { race: rowsOf(all), winner: undefined };
    for (const each of left) each.losses.push(await judged(each, { from, to, total }));
    const isLast = i === STRETCHES.length - 1;
    left = left.toSorted((a, b) => a.losses[i]! - b.losses[i]!).slice(0, isLast ? 1 : Math.ceil(left.length * GO_ON));
    yield note(`${left.map(({ pattern }) => pattern).join(", ")} ${left.length === 1 ? "goes" : "go"} on`);
    from = to;
  }
  return { race: rowsOf(all), winner: left[0]! };
}

/** What the regular network is called. */
const REGULAR = "regular";

function contendersOf(
  front: Front,
  path: string | undefined,
  { contenders: count, most, perplexityOf }: RaceOptions,
): Contender[] {
  if (path === undefined) {
    reject({ who: "race", needed: "a folder for its runs", got: "none", remedy: "give into, or --out" }, 2);
  }
  const best = contendersWithin(front, most, count);
  const written = regularWithin(front, most);
  const isNew = written !== undefined && best.every(({ pattern }) => pattern !== written.pattern);
  const named = [
    ...best.map((network, i) => ({ network, name: `network-${i + 1}`, supernetPerplexity: network.perplexity })),
    ...(isNew ? [{ network: written, name: REGULAR, supernetPerplexity: perplexityOf(written.pattern) }] : []),
  ];
  return named.map((each) => {
    return { ...each, pattern: each.network.pattern, run: join(path, each.name), losses: [] };
  });
}

/** Updates of each network: known before the first begins. */
async function updatesOf({ pattern }: Contender, settings: SearchConfig, { given }: Racing): Promise<number> {
  if (settings.minutes !== null) {
    const remedy = "give steps or epochs";
    reject({ who: "race", needed: "as many updates for all", got: `${settings.minutes} minutes`, remedy }, 2);
  }
  const { course } = await openSearch({ ...settings, front: false, budget: null, blocks: pattern }, given);
  return course.total;
}

/** Trains a network up to an update, where it has not come so far yet, and lets it rest there with a checkpoint. */
async function* trainedUpTo(
  each: Contender,
  to: number,
  settings: SearchConfig,
  request: Racing,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, void, void> {
  if (signal.aborted || (await lossesOf(each)).length >= to) return;
  const rest = new AbortController();
  const training = trainedNetwork(each, settings, request, AbortSignal.any([signal, rest.signal]));
  for (;;) {
    const { value, done } = await training.next();
    if (done) return;
    yield value;
    if (value.type === "step" && value.step >= to) rest.abort();
  }
}

async function lossesOf({ run }: Contender): Promise<number[]> {
  if (!existsSync(join(run, "config.yaml"))) return [];
  const events = await (await RunFolder.read(run)).events();
  return events.flatMap((event) => (event.type === "step" ? [event.loss] : []));
}

async function judged(each: Contender, { from, to, total }: Record<"from" | "to" | "total", number>): Promise<number> {
  const losses = (await lossesOf(each)).slice(Math.floor((from + 3 * to) / 4), to);
  const skipped = parsePattern(each.pattern).filter((kind) => kind === "identity").length;
  return losses.reduce((a, b) => a + b, 0) / losses.length + SKIPPED * (1 - to / total) * skipped;
}

const note = (text: string): NoteEvent => ({ type: "note", text });

const rowsOf = (all: readonly Contender[]): RacedRow[] =>
  all.map(({ name, pattern, network: { ms, ratio }, supernetPerplexity, losses }) => {
    return { name, pattern, ms, ratio, supernetPerplexity, losses };
  });

/** How a race went, network by network. */
export function raceTable(race: readonly RacedRow[]): string {
  const rows = race.map(({ name, pattern, ratio, supernetPerplexity, losses }) => ({
    network: name,
    pattern,
    "÷ (sf)-baseline": ratio.toFixed(2),
    "in the supernet": supernetPerplexity?.toFixed(2) ?? "",
    ...Object.fromEntries(STRETCHES.map((fraction, i) => [`loss at ${fraction}`, losses[i]?.toFixed(4) ?? ""])),
  }));
  return table(rows).trimEnd();
}
