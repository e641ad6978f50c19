/** `layerwise/pictures`: pictures from data: SVG for pages, characters for the terminal. Pure functions. */
export { type Bar, barsSvg } from "./bars.ts";
export { type Choice, choiceSvg, type Milestone } from "./choice-picture.ts";
export { type ComparedModel, comparisonSvg } from "./comparison-picture.ts";
export { htmlView, type ShownToken, sentenceLines, svgView, terminalView } from "./depth-view.ts";
export { type DistancePoint, distanceSvg } from "./distance-picture.ts";
export { heatMap } from "./heat-map.ts";
export { huesOf, KIND_HUES } from "./hues.ts";
export { figureHtml, pageHtml, type TableStyle, tableHtml } from "./page.ts";
export { drawPlan, type PlanPart, planSvg } from "./plan-picture.ts";
export {
  type AxisOptions,
  COLOURS,
  dotMark,
  labelMarks,
  lineMark,
  type Plot,
  type PlotOptions,
  type Point,
  plotSvg,
} from "./plot.ts";
export { type SearchMoment, searchSvg } from "./search-picture.ts";
export { type SpreadOptions, type SpreadRow, spreadsSvg } from "./spread-picture.ts";
export { type Background, type LegendEntry, onBackground } from "./svg.ts";
export { type SweptPoint, sweepSvg } from "./sweep-picture.ts";
export { type Curve, curvesSvg, paretoFront, type TradeOff, tradeOffSvg } from "./trade-off-picture.ts";
