/** Muon: momentum whose direction is made orthogonal, for matrices inside a network; the rest belongs to an AdamW group. */
import { rejectShape } from "../base/errors.ts";
import { checkOptions, defined, number, type Rules, truth, whole } from "../base/options.ts";
import { type Engine, type Feed, inTurns, type Program } from "../engine/engine.ts";
import { printShape } from "../graph/index.ts";
import type { MuonOptions, Optimiser, Slot } from "./optimiser.ts";

const rules: Rules<MuonOptions> = {
  momentum: number({ from: 0, below: 1 }),
  nesterov: truth,
  weightDecay: number({ from: 0 }),
  iterations: whole(0),
};

const defaults = { momentum: 0.95, nesterov: true, weightDecay: 0.01, iterations: 5 } as const;

/** An optimiser that holds compiled programs, one per shape. */
export interface Muon extends Optimiser {
  /** Gives the programs back; the next update would compile them again. */
  release(): Promise<void>;
}

/**
 * Muon on an engine, for groups of matrices. Steps are scaled by 0.2 · √max(rows, columns), so that they are as long as AdamW's and
 * one learning rate serves both; weight decay is decoupled. Its only state is the momentum.
 */
export function muon(engine: Engine, options: MuonOptions = {}): Muon {
  checkOptions("muon", options, rules);
  const fixed = { ...defaults, ...defined(options) };
  const programs = new Map<string, Promise<Program>>();
  const programFor = (shape: readonly number[]) => {
    const key = printShape(checkMatrix(shape));
    const known = programs.get(key) ?? compiled(engine, shape, fixed);
    programs.set(key, known);
    return known;
  };
  return {
    name: "muon",
    rule: { kind: "muon", ...fixed },
    moments: ["momentum"],
    perTensor: true,
    update: async (kernels, slot, { rate, gradientScale }) => {
      const program = await programFor(slot.shape);
      const share = (1 - fixed.momentum) * gradientScale;
      kernels.scaleInPlace(slot.moments[0]!, fixed.momentum);
      kernels.addScaled(slot.moments[0]!, slot.gradient, share);
      const result = await program.run(feedsOf(slot, share, fixed.nesterov));
      const length = stepLength(slot.shape);
      apply(slot.weight, result.direction!, rate * length, 1 - rate * fixed.weightDecay);
    },
    release: async () => {
      const compiled = await Promise.all(programs.values());
      programs.clear();
      for (const program of compiled) await program.release();
    },
  };
}

async function compiled(engine: Engine, shape: readonly number[], fixed: Required<MuonOptions>): Promise<Program> {
  const { direction } = await import("./orthogonal.ts");
  return inTurns(engine).compile({ outputs: { direction: direction(shape, fixed) } });
}

/** The factor that makes Muon's steps as long as AdamW's. */
export const stepLength = (shape: readonly number[]): number => 0.2 * Math.sqrt(Math.max(...shape));

export function checkMatrix(shape: readonly number[]): readonly number[] {
  if (shape.length === 2) return shape;
  const remedy = "put biases and norms into a group with adamw";
  return rejectShape({ who: "muon", needed: "a matrix", got: printShape(shape), remedy });
}

function feedsOf({ gradient, moments: [momentum] }: Slot, share: number, nesterov: boolean) {
  return nesterov ? { momentum: momentum!, gradient, share: Float32Array.of(share) } : { momentum: momentum! };
}

function apply(weight: Float32Array, { data }: Feed, rate: number, keep: number): void {
  for (let i = 0; i < weight.length; i++) weight[i] = keep * weight[i]! - rate * data[i]!;
}
