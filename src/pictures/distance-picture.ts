/** Depth over distance as a picture. */
import { COLOURS, dotMark, lineMark, plotSvg } from "./plot.ts";

/** Tokens at one distance: how many there are, and how deep they ran. */
export interface DistancePoint {
  readonly distance: number;
  readonly mean: number;
  readonly tokens: number;
}

/** An SVG of the iterations that masked verbs took against the distance to their subjects. */
export function distanceSvg(distances: readonly DistancePoint[]): string {
  const points = distances.map(({ distance, mean }) => ({ x: distance, y: mean }));
  const axes = {
    title: "Iterations of the masked verb against the distance to its subject",
    x: { title: "distance in words", values: points.map(({ x }) => x) },
    y: { title: "mean iterations", values: points.map(({ y }) => y) },
  };
  return plotSvg(axes, (plot) => [
    lineMark(plot, points, COLOURS[0]),
    ...points.map((point, i) => dotMark(plot, point, COLOURS[0], `${distances[i]!.tokens} tokens`)),
  ]);
}
