/** What a task's figures lose where tokens halt earlier, and the time that is saved: one fine-tuned model under several thresholds. */
import { reject } from "../../base/errors.ts";
import { figureText } from "../../base/scores.ts";
import { formatNumber, type Row, table } from "../../base/table.ts";
import { dotMark, labelMarks, lineMark, plotSvg } from "../../pictures/plot.ts";
import { COLOURS } from "../../pictures/svg.ts";
import type { TextExample, TextTask } from "../../text/labelled/text-task.ts";
import { taskFigures } from "./classifier.ts";
import { checkEarlyExit } from "./early-exit.ts";
import type { ScoringOptions, Tuned } from "./predictions.ts";
import { type TimedScores, timedScores } from "./timed-scores.ts";
import { haltThreshold } from "./tuned-depth.ts";

/** A model under one threshold. */
export interface CurvePoint {
  /** A token halts when its probabilities exceed this; null: as in training, with every depth computed for every token. */
  readonly threshold: number | null;
  /** Mean depth that was computed per token. */
  readonly depth: number;
  readonly loss: number;
  /** The task's metrics. */
  readonly figures: Readonly<Record<string, number>>;
  readonly msPerText: number;
  /** Its time divided by that of full depth. */
  readonly timeRatio: number;
}

/** Figures against depth: full depth first, then by falling threshold. */
export interface DepthCurve {
  readonly task: string;
  readonly split: string;
  readonly texts: number;
  /** The metric that decides. */
  readonly metric: string;
  readonly points: readonly CurvePoint[];
}

/** Thresholds that are tried besides that of training. */
const USUAL = [0.9, 0.7, 0.5, 0.3];

/** The thresholds that are asked for, from high to low, or the usual ones; refused where the model does not take them. */
export function curveThresholds(
  model: Tuned["description"]["model"],
  asked: readonly number[] | undefined,
  who = "curve",
): number[] {
  const written = typeof model.depth === "string" ? haltThreshold(model.depth) : undefined;
  const own = written ?? 1 - (model.halting?.epsilon ?? 0.01);
  const thresholds = [...new Set(asked ?? [own, ...USUAL.filter((each) => each < own)])];
  if (thresholds.length === 0) reject({ who, needed: "at least one threshold", got: "none" }, 2);
  for (const threshold of thresholds) checkEarlyExit(model, { threshold }, who);
  return thresholds.sort((a, b) => b - a);
}

/** Measures texts at full depth and under each threshold; a cap is for the thresholds alone. */
export async function curvePoints(
  tuned: Tuned,
  task: TextTask,
  examples: readonly TextExample[],
  thresholds: readonly number[],
  { cap, ...how }: Pick<ScoringOptions, "batch" | "cap" | "onText">,
): Promise<CurvePoint[]> {
  const exits = [{}, ...thresholds.map((threshold) => ({ threshold, cap }))];
  const [full, ...early] = await timedScores(tuned, examples, exits, how);
  const point = (threshold: number | null, depth: number, scored: TimedScores): CurvePoint => {
    const { loss, figures } = taskFigures(task, { ...scored, depth: undefined }, examples);
    const { msPerText } = scored;
    return { threshold, depth, loss, figures, msPerText, timeRatio: msPerText / full!.msPerText };
  };
  return [
    point(null, tuned.described.model.policy.depth, full!),
    ...early.map((each, i) => point(thresholds[i]!, each.depth!, each)),
  ];
}

const thresholdText = ({ threshold }: CurvePoint) => (threshold === null ? "full depth" : formatNumber(threshold, 4));

/** A curve as a table for the terminal. */
export function curveTable({ points }: DepthCurve): string {
  const rows = points.map((point): Row => {
    const figures = Object.entries(point.figures).map(([name, value]) => [name, figureText(name, value)]);
    const { depth, loss, msPerText, timeRatio } = point;
    const measured = { "ms per text": formatNumber(msPerText, 3), time: `${timeRatio.toFixed(2)} ×` };
    return {
      threshold: thresholdText(point),
      depth: depth.toFixed(2),
      loss,
      ...Object.fromEntries(figures),
      ...measured,
    };
  });
  return table(rows);
}

/** A curve as a picture: the metric that decides against the mean depth. */
export function curveSvg({ task, metric, texts, points }: DepthCurve): string {
  const places = points.map((point) => ({ x: point.depth, y: point.figures[metric]!, name: thresholdText(point) }));
  const axes = {
    title: `${task}: ${metric} against depth`,
    description: `${formatNumber(texts)} texts. ${places.map(({ name, x, y }) => `${name}: depth ${x.toFixed(2)}, ${figureText(metric, y)}`).join("; ")}.`,
    x: { title: "mean depth per token", values: [0, ...places.map(({ x }) => x)] },
    y: { title: metric, values: places.map(({ y }) => y) },
  };
  const colour = COLOURS[0]!;
  return plotSvg(axes, (plot) => [
    lineMark(plot, places, colour),
    ...places.map((each) => dotMark(plot, each, colour, each.name)),
    ...labelMarks(plot, places),
  ]);
}
