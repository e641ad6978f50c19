/** A network in pieces, each a graph of its own: what a path through a supernet is made of. */
import type { NoiseInput } from "./noise.ts";
import type { Tensor } from "./vocabulary.ts";

/** A part of a network as a function of the rows that enter it. */
export interface Piece {
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
  readonly piece: Piece | undefined;
  /** In the order of the piece's. */
  readonly parameters: readonly Tensor<"parameter">[];
}

/** All pieces at one shape; every block takes one of its candidates. */
export interface Pieces {
  readonly embedding: Omit<Piece, "x">;
  readonly blocks: readonly (readonly PathCandidate[])[];
  /** Its `y` is the loss. */
  readonly head: Piece;
  /** What a batch brings. */
  readonly inputs: Readonly<Record<string, Tensor>>;
  /** Of each block: [B, M, C], what entered it before; none without memory. */
  readonly memories: readonly Tensor<"input">[];
  /** Largest values of named dimensions. */
  readonly sizes: Readonly<Record<string, number>>;
}
