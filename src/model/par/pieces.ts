/** A supernet in pieces: embedding, candidates, softmax, each a graph of its own, so that a path runs what it takes and nothing else. */
import { input, type NoiseInput, reshape, type Tensor } from "../../graph/index.ts";
import {
  inference,
  type Mode,
  newParameter,
  type Parameter,
  type SegmentContext,
  Training,
  zeros,
} from "../../nn/index.ts";
import { candidateName } from "./candidates.ts";
import type { ParModel, ParRun } from "./par.ts";

/** A part of the network as a function of the rows that enter it. */
export interface ParPiece {
  /** The rows [B·T, C] that enter; a parameter, so that it may have a gradient. */
  readonly x: Tensor<"parameter">;
  /** Rows [B·T, C], or the loss. */
  readonly y: Tensor;
  readonly parameters: readonly Tensor<"parameter">[];
  readonly noise: readonly NoiseInput[];
}

/** What a block may be: a piece that all blocks share, run on parameters of its own. Identity has no piece. */
export interface PathCandidate {
  readonly name: string;
  readonly piece: ParPiece | undefined;
  /** In the order of the piece's. */
  readonly parameters: readonly Tensor<"parameter">[];
}

/** All pieces of a supernet at one shape. */
export interface ParPieces {
  readonly embedding: Omit<ParPiece, "x">;
  readonly blocks: readonly (readonly PathCandidate[])[];
  readonly head: ParPiece;
  /** What a batch brings. */
  readonly inputs: Readonly<Record<string, Tensor>>;
  /** Of each block: [B, M, C]; none without memory. */
  readonly memories: readonly Tensor<"input">[];
  /** Largest values of named dimensions. */
  readonly sizes: Readonly<Record<string, number>>;
}

/** Cuts a supernet into its pieces. */
export function parPieces(model: ParModel, run: Pick<ParRun, "batch" | "length" | "memory" | "training">): ParPieces {
  const { batch, length, memory = model.options.memory, training } = run;
  const { width } = model.options;
  const rows = () => newParameter("x", [batch * length, width], zeros).tensor;
  const ids = input("ids", [batch, length], "int");
  const targets = input("targets", [batch, length], "int");
  const missing = memory > 0 ? { missing: input("missing", [], "int") } : {};
  const built = new Map<string, ParPiece>();
  const blocks = model.policy.blocks.map((candidates, i) =>
    candidates.map((candidate, k): PathCandidate => {
      const name = candidateName(model.choices[i]![model.alive[i]![k]!]!);
      const parameters = tensorsOf(candidate.parameters);
      if (candidate.kind === "identity") return { name, piece: undefined, parameters };
      const key = `${name} ${parameters.map(({ shape }) => `[${shape}]`)}`;
      if (!built.has(key)) {
        const make = (x: Tensor, mode: Mode) => {
          const context: SegmentContext = { ...model.contextOf(run, mode), memory: memoryOf(batch, memory, width) };
          return candidate.apply(x, context);
        };
        built.set(key, pieceOf(rows(), parameters, training, make));
      }
      return { name, piece: built.get(key), parameters };
    }),
  );
  const { embedding, head } = model.outer;
  const { x: _, ...embedded } = pieceOf(rows(), tensorsOf(embedding), training, (_, mode) => model.embedded(ids, mode));
  const flat = reshape(targets, [batch * length]);
  const loss = pieceOf(rows(), tensorsOf(head), training, (x) => model.lossOf(model.normed(x), flat).loss);
  const { rows: clusters, sizes } = model.lossOf(model.normed(loss.x), flat);
  const memories = memory > 0 ? blocks.map((_, i) => input(`memory.${i}`, [batch, memory, width])) : [];
  return {
    embedding: embedded,
    blocks,
    head: loss,
    inputs: { ids, targets, ...clusters, ...missing },
    memories,
    sizes,
  };
}

const memoryOf = (batch: number, memory: number, width: number) =>
  memory > 0 ? input("memory", [batch, memory, width]) : undefined;

const tensorsOf = (parameters: readonly Parameter[]) => parameters.map(({ tensor }) => tensor);

function pieceOf(
  x: Tensor<"parameter">,
  parameters: ParPiece["parameters"],
  training: boolean,
  make: (x: Tensor, mode: Mode) => Tensor,
): ParPiece {
  const mode = training ? new Training() : inference;
  const y = make(x, mode);
  return { x, y, parameters, noise: mode instanceof Training ? mode.noise : [] };
}
