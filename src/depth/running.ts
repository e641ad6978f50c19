/**
 * Depth for tokens that still run. In training every block computes all of them; in use (`context.skips`) blocks that can compute some rows
 * leave out tokens that stopped. What a stopped token shows to the others, its keys and values, is one choice for both: results are equal.
 */
import { reject } from "../base/errors.ts";
import { oneOf } from "../base/options.ts";
import { currentScope, full, reshape, select, type Tensor } from "../graph/index.ts";
import type { KeyValues } from "../nn/attention.ts";
import {
  allRows,
  type Block,
  type Cache,
  type Context,
  isRowwise,
  narrow,
  type RowwiseBlock,
  type SomeRows,
} from "../nn/index.ts";
import { cachesOf, contextsOf } from "./caches.ts";
import { runningOnly } from "./running-only.ts";

/**
 * What a token that stopped shows to those that go deeper. `own`: each block makes keys and values of the state in which it stopped. `last`: a
 * shared block goes on showing what it made when the token last ran through it. `first`: of every token, also of those that run, what a
 * shared block made at its first visit, so that one cache serves all of its depths. `running`: nothing, tokens that run see each other only.
 */
export type SharedKeys = "own" | "first" | "last" | "running";

/** The rule for options of policies. */
export const sharedKeys = oneOf(["own", "first", "last", "running"]);

/**
 * Caches of blocks in this order: with keys of the first visit a block that comes again has none of its own; where only running tokens are
 * seen, one more remembers how deep each token ran.
 */
export function cachesWith(order: readonly Block[], keys: SharedKeys): number | undefined {
  const caches = cachesOf(keys === "first" ? [...new Set(order)] : order);
  return keys === "running" && caches !== undefined ? caches + 1 : caches;
}

/** The blocks of a policy in their order, told what they have to be told. */
export interface Running {
  readonly order: readonly Block[];
  readonly context: Context;
  /** The whole plan, where a shallower use runs the beginning of it. */
  readonly whole?: readonly Block[] | undefined;
  /** Default: own. */
  readonly keys?: SharedKeys | undefined;
  /** Whether blocks read something else of a stopped token at each depth, such as its state plus the step's vector. Default: false. */
  readonly moves?: boolean | undefined;
}

/** Depths, to be run one after the other. */
export interface Depths {
  /**
   * The block of a depth, for tokens that run: bool [N, 1], undefined where all do. Without `becomes` rows of the others come out as anything,
   * with it, what states become by a block's output y, they stay as they are; `take` brings what is known of all tokens, [N, …], down to those of y.
   */
  run(
    state: Tensor,
    depth: number,
    running: Tensor | undefined,
    becomes?: (y: Tensor, take: (all: Tensor) => Tensor) => Tensor,
  ): Tensor;
  /** The outputs y of a depth's block for the rows that are computed where these run. */
  only(state: Tensor, depth: number, running: Tensor | undefined): RowsOnly;
  /** The rows that are computed where these run: all of them where nothing is left out. */
  rows(running: Tensor | undefined): SomeRows;
}

/** What a block makes of some rows. */
export interface RowsOnly {
  readonly y: Tensor;
  readonly rows: SomeRows;
}

type RunRows = Depths["only"];
/** The same, with what the block is told. */
type Told = [...Parameters<RunRows>, context: Context];

/** How depths are run. Who has stopped must never run again: depth by depth `running` may only become narrower. */
export function depthsOf({ order, context, whole = order, keys = "own", moves = false }: Running): Depths {
  const contexts = keys === "first" ? sharingCaches(context, order, whole) : contextsOf(context, order, whole);
  const shown = keys === "running" ? runningOnly(context, order.length) : (usual: Context) => usual;
  const dense = denseRunner(order, keys);
  const all = allRows(context.rows);
  const skips = context.skips && !context.mode.trains;
  const narrowed = new Map<Tensor, SomeRows>();
  const rows = (running: Tensor | undefined) => {
    if (!running || !skips) return all;
    const some = narrowed.get(running) ?? someRows(running, all, context);
    narrowed.set(running, some);
    return some;
  };
  const skip = skippingRunner({ order, keys, moves, rows, all });
  const only: RunRows = (state, depth, running) => {
    const given = [state, depth, running, shown(contexts[depth]!, depth, running)] as const;
    return skips && isRowwise(order[depth]!) ? skip(...given) : { y: dense(...given), rows: all };
  };
  return { run: keeping(only, all), only, rows };
}

/** Contexts where a block has one set of caches for all of its visits, written at the first. */
function sharingCaches<C extends Context>(context: C, order: readonly Block[], whole: readonly Block[]): C[] {
  const { caches, ...rest } = context;
  const visits = contextsOf(rest as C, order, whole);
  if (!caches) return visits;
  const blocks = [...new Set(order)];
  const own = new Map(contextsOf(context, blocks).map(({ caches: each }, i) => [blocks[i]!, each!]));
  return order.map((block, depth) => {
    const again = order.indexOf(block) < depth;
    const mine = own.get(block)!.map((cache): Cache => (again ? { ...cache, store: () => undefined } : cache));
    return { ...visits[depth]!, cache: mine[0], caches: mine };
  });
}

/** States of all rows, as they become. */
function keeping(only: RunRows, all: SomeRows): Depths["run"] {
  return (state, depth, running, becomes) => {
    const { y, rows } = only(state, depth, running);
    const next = becomes ? becomes(y, rows.take) : y;
    return becomes && running && rows === all ? select(running, next, state) : rows.put(state, next);
  };
}

/** All rows are computed; attention is told what to look at where that is not what it makes itself. */
function denseRunner(order: readonly Block[], keys: SharedKeys): (...given: Told) => Tensor {
  if (keys === "own") return (state, depth, _, context) => order[depth]!.apply(state, context);
  /** What each attention inside a block made. */
  const made = new Map<Block, KeyValues[]>();
  return (state, depth, running, context) => {
    const block = order[depth]!;
    const before = keys === "running" ? undefined : made.get(block);
    const now: KeyValues[] = [];
    const seen = (own: KeyValues) => {
      const old = before?.[now.length];
      now.push(old ? (keys === "first" ? old : chosen(running, own, old)) : own);
      return now.at(-1)!;
    };
    const y = block.apply(state, { ...context, seen });
    if (now.length === 0 && block.caches !== 0) refuseKeys(keys);
    made.set(block, now);
    return y;
  };
}

const chosen = (running: Tensor | undefined, own: KeyValues, old: KeyValues): KeyValues =>
  running ? { keys: select(running, own.keys, old.keys), values: select(running, own.values, old.values) } : own;

function refuseKeys(keys: SharedKeys): never {
  const remedy = "leave `keys` out, or let attention look at `context.seen`";
  return reject({ who: `keys ${keys}`, needed: "blocks with plain self-attention", got: "others", remedy }, 2);
}

/** What a block made of all tokens, and whose states have changed since. */
interface Made {
  readonly pair: KeyValues;
  readonly changed: SomeRows;
}

interface Skipping extends Pick<Running, "order">, Pick<Depths, "rows"> {
  readonly keys: SharedKeys;
  readonly moves: boolean;
  readonly all: SomeRows;
}

function skippingRunner({ order, keys, moves, rows: rowsOf, all }: Skipping): (...given: Told) => RowsOnly {
  const made = new Map<Block, Made>();
  return (state, depth, running, context) => {
    const block = order[depth] as RowwiseBlock;
    const rows = rowsOf(running);
    const stale = keys === "own" && (moves || block.differs === true);
    const before = stale ? undefined : made.get(block);
    const pair = block.keyValues && refreshed(block, state, { rows, all, keys, context, before });
    if (pair) made.set(block, { pair, changed: rows });
    return { y: block.applyRows(rows.take(state), pair, rows, context), rows };
  };
}

function someRows(running: Tensor, all: SomeRows, { rows }: Context): SomeRows {
  const name = currentScope().replaceAll(/\W+/g, "_");
  return narrow(all, reshape(running, [running.shape[0]!]), rows, name).rows;
}

interface Refresh {
  readonly rows: SomeRows;
  readonly all: SomeRows;
  readonly keys: SharedKeys;
  readonly context: Context;
  readonly before: Made | undefined;
}

/** Keys and values of some rows; those of the others, which nobody sees, are 0. */
function onlyOf(rows: SomeRows, { keys, values }: KeyValues, state: Tensor): KeyValues {
  const put = (some: Tensor) => rows.put(full(0, [state.shape[0]!, some.shape[1]!]), some);
  return { keys: put(keys), values: put(values) };
}

/** Keys and values of all tokens [B·T, ·]; only those are computed that the block has not made before. */
function refreshed(block: RowwiseBlock, state: Tensor, { rows, all, keys, context, before }: Refresh): KeyValues {
  const make = (some: SomeRows) => block.keyValues!(some.take(state), some, context);
  if (keys === "running") return onlyOf(rows, make(rows), state);
  if (!before) return make(all);
  if (keys === "first") return before.pair;
  const some = keys === "last" ? rows : before.changed;
  const fresh = make(some);
  return {
    keys: some.put(before.pair.keys, fresh.keys),
    values: some.put(before.pair.values, fresh.values),
  };
}
