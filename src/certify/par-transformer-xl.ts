/** Certifies the PAR Transformer-XL against the TensorFlow original: one check a kind of case. */
import type { Engine } from "../index.ts";
import type { Finding, GoldenCase } from "./case.ts";
import { certifyDefault } from "./par-default.ts";
import { certifyAdaptive, certifyAttention, certifyBlock, certifyGumbel, certifyPositions } from "./par-layers.ts";
import { certifyModel, certifyTraining } from "./par-models.ts";
import { certifyContextBatches, certifyCutoffs, certifySchedules } from "./par-tables.ts";

type Check = (golden: GoldenCase, engine: Engine) => Finding[] | Promise<Finding[]>;

const checks: Readonly<Record<string, Check>> = {
  attention: certifyAttention,
  block: certifyBlock,
  "gumbel-softmax": certifyGumbel,
  "adaptive-softmax": certifyAdaptive,
  positions: certifyPositions,
  model: certifyModel,
  "default-model": certifyDefault,
  training: certifyTraining,
  schedules: certifySchedules,
  cutoffs: certifyCutoffs,
  "context-batches": certifyContextBatches,
};

const checkOf = ({ about: { kind } }: GoldenCase) =>
  typeof kind === "string" && Object.hasOwn(checks, kind) ? checks[kind] : undefined;

export function covers(golden: GoldenCase): boolean {
  return checkOf(golden) !== undefined;
}

export async function certify(golden: GoldenCase, engine: Engine): Promise<Finding[]> {
  return checkOf(golden)!(golden, engine);
}
