/** Losses of paths through a supernet on the same batches: paths that begin alike share what they begin with, exactly. */
import { Arena, arenaBytes } from "../engine/arena.ts";
import { type Engine, type Feed, feedsFor, type Numbers, type Program } from "../engine/engine.ts";
import { type Piece, type Pieces, simplifyNamed, type Weights } from "../graph/index.ts";
import { feedOf } from "./buffers.ts";
import type { Batches } from "./evaluate.ts";
import { type Path, remember, rowBuffers } from "./path-program.ts";

/** What enters a depth, batch by batch, and what each block remembers of the batches before. */
interface Level {
  readonly rows: readonly Feed[];
  readonly memories: readonly (Feed | undefined)[];
}

/** Forward programs of all pieces, and the batches on which paths are measured, under fixed weights. */
export class PathEvaluator {
  readonly #pieces: Pieces;
  readonly #programs: ReadonlyMap<Pieces["embedding"], Program>;
  readonly #weights: ReadonlyMap<string, Float32Array>;
  readonly #batches: readonly Record<string, Feed>[];
  /** Arrays of each depth: the rows that enter it, batch by batch, and what its block remembers then. */
  readonly #rows: readonly (readonly Feed[])[];
  readonly #memories: readonly (readonly Feed[])[];
  /** Block runs so far; without shared beginnings it would be blocks × batches × paths. */
  runs = 0;

  static async create(engine: Engine, pieces: Pieces, weights: Weights, batches: Batches): Promise<PathEvaluator> {
    const distinct = new Set(pieces.blocks.flat().flatMap(({ piece }) => (piece ? [piece] : [])));
    const programs = new Map<Pieces["embedding"], Program>();
    const takesTurns = engine.threads > 1;
    try {
      for (const piece of [pieces.embedding, ...distinct, pieces.head]) {
        programs.set(piece, await engine.compile({ outputs: simplifyNamed({ y: piece.y }), takesTurns }));
      }
      return new PathEvaluator(pieces, programs, alignedCopies(weights), fedBatches(pieces, batches));
    } catch (error) {
      for (const program of programs.values()) await program.release();
      throw error;
    }
  }

  private constructor(
    pieces: Pieces,
    programs: ReadonlyMap<Pieces["embedding"], Program>,
    weights: ReadonlyMap<string, Float32Array>,
    batches: readonly Record<string, Feed>[],
  ) {
    [this.#pieces, this.#programs, this.#weights, this.#batches] = [pieces, programs, weights, batches];
    const { blocks, head, memories } = pieces;
    this.#rows = [...blocks, head].map(() => rowBuffers(head.x.attributes.shape, batches.length));
    // The first memory of each depth is never written: nothing came before.
    this.#memories = memories.map(({ shape }) => rowBuffers(shape as readonly number[], batches.length + 1));
  }

  /** Takes other weights. */
  load(weights: Weights): void {
    for (const [{ attributes }, data] of weights) this.#weights.get(attributes.name)!.set(data);
  }

  /** The mean loss of each path, in the order they are given, over the first `count` batches. */
  async losses(paths: readonly Path[], count = this.#batches.length, signal?: AbortSignal): Promise<number[]> {
    const order = paths.map((_, i) => i).sort((a, b) => compare(paths[a]!, paths[b]!));
    const losses: number[] = new Array(paths.length);
    const levels: Level[] = [await this.#enter(Math.min(count, this.#batches.length))];
    let before: Path = [];
    for (const at of order) {
      signal?.throwIfAborted();
      const path = paths[at]!;
      const shared = sharedDepth(before, path);
      levels.length = shared + 1;
      for (let depth = shared; depth < path.length; depth++) {
        levels.push(await this.#deepen(depth, path[depth]!, levels[depth]!));
      }
      losses[at] = await this.#loss(levels.at(-1)!);
      before = path;
    }
    return losses;
  }

  async #enter(count: number): Promise<Level> {
    const { embedding } = this.#pieces;
    const rows: Feed[] = [];
    for (const [t, batch] of this.#batches.slice(0, count).entries()) {
      rows.push(await this.#run(embedding, batch, this.#rows[0]![t]));
    }
    return this.#level(0, rows);
  }

  /** Rows that enter a depth, with what its block remembers at each batch. */
  #level(depth: number, rows: readonly Feed[]): Level {
    const memories = this.#memories[depth];
    if (!memories) return { rows, memories: rows.map(() => undefined) };
    for (const [t, { data }] of rows.entries()) {
      remember(memories[t]!.data, data, memories[t]!.shape, memories[t + 1]!.data);
    }
    return { rows, memories };
  }

  async #deepen(depth: number, place: number, { rows, memories }: Level): Promise<Level> {
    const { piece, parameters } = this.#pieces.blocks[depth]![place]!;
    if (!piece) return this.#level(depth + 1, rows);
    const weights = piece.parameters.map(({ attributes }, k) => {
      return [attributes.name, this.#weights.get(parameters[k]!.attributes.name)!] as const;
    });
    const own = Object.fromEntries(weights);
    const left: Feed[] = [];
    for (const [t, x] of rows.entries()) {
      const memory = memories[t] ? { memory: memories[t], missing: this.#batches[t]!.missing! } : {};
      const values = { ...own, ...memory, [piece.x.attributes.name]: x };
      left.push(await this.#run(piece, values, this.#rows[depth + 1]![t]));
      this.runs++;
    }
    return this.#level(depth + 1, left);
  }

  async #loss({ rows }: Level): Promise<number> {
    const { head } = this.#pieces;
    let total = 0;
    for (const [t, x] of rows.entries()) {
      const { data } = await this.#run(head, { ...this.#batches[t]!, [head.x.attributes.name]: x });
      total += data[0]!;
    }
    return total / rows.length;
  }

  async #run(
    piece: Pieces["embedding"] | Piece,
    values: Readonly<Record<string, Feed | Numbers>>,
    into?: Feed,
  ): Promise<Feed> {
    const program = this.#programs.get(piece)!;
    const outer = Object.fromEntries(
      piece.parameters.flatMap(({ attributes: { name } }) => {
        return name in values ? [] : [[name, this.#weights.get(name)!]];
      }),
    );
    const found = await program.run(feedsFor(program, { ...outer, ...values }), into ? { y: into } : {});
    return found.y!;
  }

  async release(): Promise<void> {
    for (const program of this.#programs.values()) await program.release();
  }
}

function compare(a: Path, b: Path): number {
  const at = a.findIndex((place, i) => place !== b[i]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}

function sharedDepth(a: Path, b: Path): number {
  const at = b.findIndex((place, i) => place !== a[i]);
  return at < 0 ? b.length : at;
}

/** Copies in an arena: the runtime's reductions change bits with the alignment of what they read. */
function alignedCopies(weights: Weights): Map<string, Float32Array> {
  const arena = new Arena(arenaBytes([...weights.values()].map(({ length }) => length)));
  const copies = [...weights].map(([{ attributes }, data]) => {
    const copy = arena.float32(data.length, attributes.name);
    copy.set(data);
    return [attributes.name, copy] as const;
  });
  return new Map(copies);
}

function fedBatches({ inputs }: Pieces, batches: Batches): Record<string, Feed>[] {
  return Array.from({ length: batches.count }, (_, i) => {
    const batch = batches.at(i);
    const fed = Object.entries(inputs).map(([name, tensor]) => [name, feedOf(name, tensor, batch[name])] as const);
    return Object.fromEntries(fed);
  });
}
