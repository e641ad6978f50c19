/** The program of a supernet that trains one path per update: forward and backward piece by piece, only what the path takes. */
import { rejectData } from "../base/errors.ts";
import { Arena, arenaBytes } from "../engine/arena.ts";
import type { Engine, Feed, Feeds, Numbers, Port, Program } from "../engine/engine.ts";
import { input, type NoiseInput, type PathCandidate, type Piece, type Pieces, type Tensor } from "../graph/index.ts";
import { type ParameterTensor, sizeOf } from "./memory.ts";
import { gradientName, type RowOutput, type StepGraph, stepGraph } from "./step-graph.ts";

/** The place of the chosen candidate of each block. */
export type Path = readonly number[];

/** The input under which a batch brings its path. */
export const PATH = "path";

type Arrays = Record<string, Numbers | Feed>;

/** A compiled piece: forward alone, and with the pull-back. */
interface Compiled {
  readonly forward: Program;
  readonly backward: Program;
  readonly plan: StepGraph;
}

const carriedInto = (memory: Tensor<"input">) => `carried ${memory.attributes.name}`;
const INCOMING = "incoming gradient";
const dataOf = (value: Numbers | Feed): Numbers => ("data" in value ? value.data : value);

/** The last M steps of (memory, x), row by row of the batch: [B, M, C] and [B·T, C] → [B, M, C]. */
export function remember(memory: Numbers, x: Numbers, shape: readonly number[], into: Numbers): void {
  const [batch, kept, width] = shape as [number, number, number];
  const length = x.length / (batch * width);
  const old = Math.max(0, kept - length) * width;
  for (let b = 0; b < batch; b++) {
    const start = b * kept * width;
    into.set(memory.subarray(start + kept * width - old, start + kept * width), start);
    const end = (b + 1) * length * width;
    into.set(x.subarray(end - (kept * width - old), end), start + old);
  }
}

/** Arrays for rows that enter pieces, aligned as the runtime's reductions want them for equal bits. */
export function rowBuffers(shape: readonly number[], count: number): Feed[] {
  const length = sizeOf(shape);
  const arena = new Arena(arenaBytes(Array.from({ length: count }, () => length)));
  return Array.from({ length: count }, () => ({ data: arena.float32(length), shape }));
}

/** Noise of a block by what is drawn: candidates take turns, so equal draws share an input. */
function noiseNames(place: string, noise: readonly NoiseInput[]): { name: string; source: NoiseInput }[] {
  const seen = new Map<string, number>();
  return noise.map((source) => {
    const key = `${source.draw.kind}${"keep" in source.draw ? ` ${source.draw.keep}` : ""} [${source.tensor.shape}]`;
    const nth = seen.get(key) ?? 0;
    seen.set(key, nth + 1);
    return { name: `${place} ${key} ${nth}`, source };
  });
}

/** Programs of all pieces, as one program whose batches bring a path. */
export class PathProgram implements Program {
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  /** What leaves it, as a step takes it. */
  readonly plan: StepGraph;
  readonly noise: readonly NoiseInput[];
  /** The place of the chosen candidate of each block: [L]. */
  readonly pathInput: Tensor<"input">;
  /** Memories, as a step takes them. */
  readonly carried: readonly { readonly input: Tensor<"input">; readonly output: Tensor }[];
  readonly #pieces: Pieces;
  readonly #embedding: Compiled;
  readonly #head: Compiled;
  readonly #candidates: ReadonlyMap<Piece, Compiled>;
  /** Gradients that the last run wrote, by block: a path that does not take them leaves zeros. */
  #written: ParameterTensor[] = [];
  /** What enters each depth and leaves the last: [B·T, C]. */
  readonly #rows: readonly Feed[];
  /** Gradients of rows, by turns. */
  readonly #gradients: readonly [Feed, Feed];

  static async create(engine: Engine, pieces: Pieces): Promise<PathProgram> {
    const compiled: Compiled[] = [];
    const compile = async (piece: Omit<Piece, "x"> & { x?: ParameterTensor }, isLoss = false) => {
      const made = await compilePiece(engine, piece, isLoss);
      compiled.push(made);
      return made;
    };
    try {
      const distinct = new Set(pieces.blocks.flat().flatMap(({ piece }) => (piece ? [piece] : [])));
      const candidates = new Map<Piece, Compiled>();
      for (const piece of distinct) candidates.set(piece, withoutRows(await compile(piece)));
      return new PathProgram(pieces, await compile(pieces.embedding), await compile(pieces.head, true), candidates);
    } catch (error) {
      for (const each of compiled) await releasePiece(each);
      throw error;
    }
  }

  private constructor(pieces: Pieces, embedding: Compiled, head: Compiled, candidates: ReadonlyMap<Piece, Compiled>) {
    [this.#pieces, this.#embedding, this.#head, this.#candidates] = [pieces, embedding, head, candidates];
    const [first, second, ...rows] = rowBuffers(pieces.head.x.attributes.shape, pieces.blocks.length + 3);
    this.#rows = rows;
    this.#gradients = [first!, second!];
    this.noise = noiseOf(pieces);
    this.plan = planOf(pieces, embedding.plan, head.plan);
    this.pathInput = input(PATH, [pieces.blocks.length], "int");
    this.carried = pieces.memories.map((memory) => ({ input: memory, output: memory }));
    this.inputs = portsOf(pieces, [this.pathInput, ...this.noise.map(({ tensor }) => tensor)]);
    this.outputs = Object.entries(this.plan.outputs).map(([name, { dtype, shape }]) => ({ name, dtype, shape }));
  }

  async run(feeds: Feeds, into: Feeds = {}): Promise<Readonly<Record<string, Feed>>> {
    const path = this.#pathIn(feeds);
    const entered = [await this.#enter(feeds)];
    for (const [i, candidate] of path.entries()) {
      entered.push(candidate.piece ? await this.#forward(i, candidate, entered[i]!, feeds) : entered[i]!);
    }
    const head = this.#pieces.head;
    const asked = { ...feeds, [head.x.attributes.name]: entered.at(-1)! };
    const [first] = this.#gradients;
    const targets = { ...targetsOf(this.#head.plan, into), [gradientName(head.x)]: first };
    const found = await this.#head.backward.run(feedsOf(this.#head.backward, asked), targets);
    const result = { loss: found.loss!, ...this.#remember(entered, feeds, into) };
    this.#clear(path, into);
    let gradient: Feed = first;
    for (const [i, candidate] of [...path.entries()].toReversed()) {
      if (candidate.piece) gradient = await this.#backward(i, candidate, { x: entered[i]!, gradient, feeds, into });
    }
    const last = {
      ...feeds,
      ...this.#noiseFor("embedding", this.#pieces.embedding.noise, feeds),
      [INCOMING]: gradient,
    };
    await this.#embedding.backward.run(feedsOf(this.#embedding.backward, last), targetsOf(this.#embedding.plan, into));
    return result;
  }

  #pathIn(feeds: Feeds): PathCandidate[] {
    const places = [...dataOf(feeds[PATH]!)];
    return this.#pieces.blocks.map((candidates, i) => {
      const found = candidates[places[i]!];
      const needed = `a place from 0 to ${candidates.length - 1} in block ${i + 1}`;
      return found ?? rejectData({ who: PATH, needed, got: `${places[i]}` });
    });
  }

  async #enter(feeds: Feeds): Promise<Feed> {
    const given = { ...feeds, ...this.#noiseFor("embedding", this.#pieces.embedding.noise, feeds) };
    return (await this.#embedding.forward.run(feedsOf(this.#embedding.forward, given), { y: this.#rows[0]! })).y!;
  }

  /** What a candidate's programs are fed: its own weights under the piece's names, its memory, its noise. */
  #feedsOf(i: number, { piece, parameters }: PathCandidate, feeds: Feeds): Arrays {
    const weights = piece!.parameters.map(({ attributes }, k) => {
      return [attributes.name, feeds[parameters[k]!.attributes.name]!] as const;
    });
    const memory = this.#pieces.memories[i];
    return {
      ...Object.fromEntries(weights),
      ...(memory ? { memory: feeds[memory.attributes.name]!, missing: feeds.missing! } : {}),
      ...this.#noiseFor(`block ${i}`, piece!.noise, feeds),
    };
  }

  #noiseFor(place: string, noise: readonly NoiseInput[], feeds: Feeds): Arrays {
    const named = noiseNames(place, noise).map(({ name, source }) => [source.tensor.attributes.name, feeds[name]!]);
    return Object.fromEntries(named);
  }

  async #forward(i: number, candidate: PathCandidate, x: Feed, feeds: Feeds): Promise<Feed> {
    const { forward } = this.#candidates.get(candidate.piece!)!;
    const given = { ...this.#feedsOf(i, candidate, feeds), [candidate.piece!.x.attributes.name]: x };
    return (await forward.run(feedsOf(forward, given), { y: this.#rows[i + 1]! })).y!;
  }

  /** Writes a candidate's gradients where the caller wants them, and gives that of the rows that entered it. */
  async #backward(
    i: number,
    candidate: PathCandidate,
    { x, gradient, feeds, into }: { x: Feed; gradient: Feed; feeds: Feeds; into: Readonly<Arrays> },
  ): Promise<Feed> {
    const { piece, parameters } = candidate;
    const { backward } = this.#candidates.get(piece!)!;
    const given = { ...this.#feedsOf(i, candidate, feeds), [piece!.x.attributes.name]: x, [INCOMING]: gradient };
    const targets = piece!.parameters.map(
      (own, k) => [gradientName(own), into[gradientName(parameters[k]!)]!] as const,
    );
    const pulled = this.#gradients.find(({ data }) => data !== gradient.data)!;
    await backward.run(feedsOf(backward, given), { ...Object.fromEntries(targets), [gradientName(piece!.x)]: pulled });
    return pulled;
  }

  #remember(entered: readonly Feed[], feeds: Feeds, into: Readonly<Arrays>): Record<string, Feed> {
    const found = this.#pieces.memories.map((memory, i) => {
      const shape = memory.shape as readonly number[];
      const target = dataOf(into[carriedInto(memory)] ?? new Float32Array(sizeOf(shape)));
      remember(dataOf(feeds[memory.attributes.name]!), entered[i]!.data, shape, target);
      return [carriedInto(memory), { data: target, shape }] as const;
    });
    return Object.fromEntries(found);
  }

  /** Zeroes what the last path wrote; what this one takes is written anew. */
  #clear(path: readonly PathCandidate[], into: Readonly<Arrays>): void {
    for (const parameter of this.#written) dataOf(into[gradientName(parameter)]!).fill(0);
    this.#written = path.flatMap(({ parameters }) => [...parameters]);
  }

  async release(): Promise<void> {
    for (const each of [this.#embedding, this.#head, ...this.#candidates.values()]) await releasePiece(each);
  }
}

/** Gradients of rows are collected for tables that every update looks up: those of embedding and softmax. */
function withoutRows(compiled: Compiled): Compiled {
  const [table] = compiled.plan.rowOutputs;
  if (!table) return compiled;
  const { name } = table.parameter.attributes;
  return rejectData({
    who: "path",
    needed: "candidates without look-up tables",
    got: name,
    remedy: "search without front",
  });
}

async function releasePiece({ forward, backward }: Compiled): Promise<void> {
  await forward.release();
  if (backward !== forward) await backward.release();
}

async function compilePiece(
  engine: Engine,
  { x, y, parameters }: Omit<Piece, "x" | "noise"> & { x?: ParameterTensor },
  isLoss: boolean,
): Promise<Compiled> {
  // Sessions have threads of their own, and take turns.
  const takesTurns = engine.threads > 1;
  const seed = isLoss ? undefined : input(INCOMING, y.shape);
  const plan = stepGraph(y, [...(x ? [x] : []), ...parameters], {}, { seed });
  const { loss, ...pulled } = plan.outputs;
  const backward = await engine.compile({ outputs: isLoss ? plan.outputs : pulled, takesTurns });
  if (isLoss) return { forward: backward, backward, plan };
  return { forward: await engine.compile({ outputs: { y: loss! }, takesTurns }), backward, plan };
}

/** Those of some values that a program asks for. */
function feedsOf({ inputs }: Program, values: Readonly<Arrays>): Arrays {
  return Object.fromEntries(inputs.map(({ name }) => [name, values[name]!]));
}

/** Those of some arrays that a piece fills. */
function targetsOf({ outputs }: StepGraph, into: Readonly<Arrays>): Arrays {
  return Object.fromEntries(Object.entries(into).filter(([name]) => name in outputs));
}

/** Every draw of every block once. */
function noiseOf({ embedding, blocks }: Pieces): NoiseInput[] {
  const named = new Map<string, NoiseInput>();
  const places = [
    ...noiseNames("embedding", embedding.noise),
    ...blocks.flatMap((candidates, i) =>
      candidates.flatMap(({ piece }) => noiseNames(`block ${i}`, piece?.noise ?? [])),
    ),
  ];
  for (const { name, source } of places) {
    if (!named.has(name)) named.set(name, { tensor: input(name, source.tensor.shape), draw: source.draw });
  }
  return [...named.values()];
}

/** The loss, gradients of everything, rows of tables, memories: what a step finds in its plan. */
function planOf({ blocks, memories, head }: Pieces, embedding: StepGraph, end: StepGraph): StepGraph {
  const inner = blocks.flat().flatMap(({ parameters }) => [...parameters]);
  const outer = [...embedding.dense, ...end.dense].filter((parameter) => parameter !== head.x);
  const rowOutputs: RowOutput[] = [...embedding.rowOutputs, ...end.rowOutputs];
  const rows = rowOutputs.flatMap(({ ids, rows }) => {
    const { outputs } = ids in embedding.outputs ? embedding : end;
    return [ids, rows].map((name) => [name, outputs[name]!] as const);
  });
  const dense = new Set([...outer, ...inner]);
  return {
    outputs: {
      loss: end.outputs.loss!,
      ...Object.fromEntries([...dense].map((parameter) => [gradientName(parameter), parameter])),
      ...Object.fromEntries(rows),
      ...Object.fromEntries(memories.map((memory) => [carriedInto(memory), memory])),
    },
    dense,
    rowOutputs,
  };
}

function portsOf({ embedding, blocks, head, inputs, memories }: Pieces, others: readonly Tensor[]): Port[] {
  const parameters = [...embedding.parameters, ...blocks.flat().flatMap((each) => each.parameters), ...head.parameters];
  return [...parameters, ...Object.values(inputs), ...memories, ...others].map(({ attributes, dtype, shape }) => {
    return { name: (attributes as { name: string }).name, dtype, shape };
  });
}
