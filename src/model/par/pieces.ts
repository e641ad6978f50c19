/** A supernet in pieces: embedding, candidates, softmax, each a graph of its own, so that a path runs what it takes and nothing else. */
import { input, type PathCandidate, type Piece, type Pieces, reshape, type Tensor } from "../../graph/index.ts";
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

/** Cuts a supernet into its pieces. */
export function parPieces(model: ParModel, run: Pick<ParRun, "batch" | "length" | "memory" | "training">): Pieces {
  const { batch, length, memory = model.options.memory, training } = run;
  const { width } = model.options;
  const rows = () => newParameter("x", [batch * length, width], zeros).tensor;
  const ids = input("ids", [batch, length], "int");
  const targets = input("targets", [batch, length], "int");
  const missing = memory > 0 ? { missing: input("missing", [], "int") } : {};
  const built = new Map<string, Piece>();
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
  parameters: Piece["parameters"],
  training: boolean,
  make: (x: Tensor, mode: Mode) => Tensor,
): Piece {
  const mode = training ? new Training() : inference;
  const y = make(x, mode);
  return { x, y, parameters, noise: mode instanceof Training ? mode.noise : [] };
}
