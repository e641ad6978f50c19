/** What a plan stores and costs, beside the same depth without sharing: of the stack of layers, without embeddings. */
import { factTable, formatNumber } from "../../base/table.ts";
import { type Plan, printPlan } from "../../depth/plan.ts";
import type { ModelReport } from "../report.ts";
import { ParameterSharedTransformerEncoder, type SharedEncoderOptions } from "./shared-encoder.ts";

/** What is stored and computed; FLOPs of a forward pass. */
export type PlanFigures = Pick<ModelReport, "parameters" | "flopsPerToken">;

/** A plan with its figures. */
export interface PlanReport extends PlanFigures {
  readonly plan: Plan;
  /** Layers that own weights. */
  readonly unique: number;
  /** Layers that run. */
  readonly depth: number;
}

/** Figures of a plan for texts of `length` tokens, and those of as many layers with weights of their own. */
export function planReport(
  plan: Plan,
  { length, ...sizes }: Omit<SharedEncoderOptions, "plan"> & { length: number },
): { readonly report: PlanReport; readonly unshared: PlanFigures } {
  const figures = (layers: Plan) =>
    new ParameterSharedTransformerEncoder({ ...sizes, plan: layers }).report({ length });
  const report = { plan, unique: new Set(plan).size, depth: plan.length, ...figures(plan) };
  return { report, unshared: figures([...plan.keys()]) };
}

const millions = (n: number) => `${formatNumber(n / 1e6, 2)} M`;

/** The figures of a plan, a line each. */
export function planTable({ report, unshared }: ReturnType<typeof planReport>): string {
  const { plan, unique, depth, parameters, flopsPerToken } = report;
  return factTable([
    { what: "plan", value: printPlan(plan) },
    { what: "layers that own weights", value: String(unique) },
    { what: "layers that run", value: String(depth) },
    { what: "parameters", value: `${millions(parameters)} (unshared: ${millions(unshared.parameters)})` },
    { what: "FLOPs per token", value: `${millions(flopsPerToken)} (sharing saves none)` },
  ]);
}
