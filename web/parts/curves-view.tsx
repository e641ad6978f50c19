/** The charts of one run or of several, and the controls that all of them share. */
import { useMemo } from "preact/hooks";
import type { Axis, RunRow, Series } from "../../src/studio/api.ts";
import { asked, go, href, setQuery } from "../data/route.ts";
import type { SeriesByRun } from "../data/series.ts";
import { Chart, type Line, type Mark, type Range } from "./chart.tsx";
import { words } from "./format.ts";
import { Choice, Toggle } from "./ui.tsx";

/** What the address says of axes. */
export function axesAsked() {
  const x = asked("x", "step") as Axis;
  const smoothing = Math.min(0.99, Math.max(0, Number(asked("smooth", "0.6")) || 0));
  const [from, to] = [Number(asked("from", "NaN")), Number(asked("to", "NaN"))];
  const range: Range | undefined = from < to ? [from, to] : undefined;
  return { x, smoothing, range, logX: asked("logx") === "1", logY: asked("logy") === "1" };
}

const UNITS: Readonly<Record<Axis, string>> = { step: "steps", minutes: "minutes", tokens: "tokens" };

/** Axis, logarithms, smoothing. */
export function AxisControls({ axes }: { readonly axes: readonly Axis[] }) {
  const { x, smoothing, range, logX, logY } = axesAsked();
  const flag = (on: boolean) => (on ? "1" : undefined);
  return (
    <div class="controls">
      <Choice
        label="Over"
        value={x}
        options={axes.map((axis) => [axis, UNITS[axis]] as const)}
        onChange={(value) => setQuery({ x: value === "step" ? undefined : value, from: undefined, to: undefined })}
      />
      <label class="field">
        <span class="field-name">
          Smoothing <b class="number">{smoothing.toFixed(2)}</b>
        </span>
        <input
          type="range"
          min="0"
          max="0.99"
          step="0.01"
          value={smoothing}
          onInput={({ currentTarget }) => setQuery({ smooth: currentTarget.value })}
        />
      </label>
      <Toggle label="log x" on={logX} onChange={(on) => setQuery({ logx: flag(on) })} />
      <Toggle label="log y" on={logY} onChange={(on) => setQuery({ logy: flag(on) })} />
      {range && (
        <button type="button" class="quiet" onClick={() => setQuery({ from: undefined, to: undefined })}>
          Whole range
        </button>
      )}
    </div>
  );
}

/** Titles of charts whose names need more than spaces, in the order in which charts are shown. */
const TITLES: readonly (readonly [string, string])[] = [
  ["loss", "Loss"],
  ["perplexity", "Perplexity"],
  ["bitsPerByte", "Bits per byte"],
  ["depth", "Mean depth"],
  ["temperature", "Temperature τ"],
  ["ms", "Latency of the network, ms"],
  ["learningRate", "Learning rate"],
  ["gradientNorm", "Gradient norm"],
  ["tokensPerSecond", "Tokens per second"],
];

const MERGED: Readonly<Record<string, string>> = {
  expectedMs: "ms",
  chosenMs: "ms",
  perplexityPerWord: "perplexityPerWord",
  meanBatchPerplexity: "perplexity",
};
/** Told elsewhere, or the axis itself. */
const LEFT_OUT = new Set(["epoch", "tokens"]);

interface Metric {
  readonly metric: string;
  /** Split of an evaluation; empty for a figure of the steps. */
  readonly split: string;
  /** The chart it belongs to. */
  readonly chart: string;
  readonly label: string;
}

/** `valid/depth/all` → split valid, chart depth, label all. */
export function metricParts(metric: string): Metric {
  const [first = "", ...rest] = metric.split("/");
  const isSplit = ["train", "valid", "test"].includes(first) && rest.length > 0;
  const [name = "", ...inner] = isSplit ? rest : [first, ...rest];
  const chart = MERGED[name] ?? name;
  const own = inner.join("/") || (chart === name ? "" : words(name));
  return { metric, split: isSplit ? first : "", chart, label: own || (isSplit ? first : "train") };
}

const titleOf = (chart: string) => TITLES.find(([key]) => key === chart)?.[1] ?? sentenceCase(words(chart));
const sentenceCase = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);
const rank = (chart: string) => {
  const at = TITLES.findIndex(([key]) => key === chart);
  return at < 0 ? TITLES.length : at;
};

/** Metrics by chart, in the order of the page. */
export function chartsOf(metrics: readonly string[]): Map<string, Metric[]> {
  const charts = new Map<string, Metric[]>();
  for (const parts of metrics.map(metricParts)) {
    if (!LEFT_OUT.has(parts.chart)) charts.set(parts.chart, [...(charts.get(parts.chart) ?? []), parts]);
  }
  return new Map([...charts].sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b)));
}

const toLine = (label: string, colour: number, { x, y }: Series, steps: boolean): Line => ({
  label,
  colour,
  x,
  y,
  smooth: steps,
});

interface Props {
  readonly runs: readonly RunRow[];
  readonly series: SeriesByRun;
  readonly marks?: readonly Mark[];
}

/** Charts of one run: a line per metric. */
function ownCharts({ id }: RunRow, series: SeriesByRun): { title: string; lines: Line[] }[] {
  const own = series.get(id) ?? {};
  return [...chartsOf(Object.keys(own))].map(([chart, metrics]) => {
    const lines = metrics.map(({ metric, label, split }, i) => toLine(label, i, own[metric]!, split === ""));
    return { title: titleOf(chart), lines };
  });
}

/** Charts of several runs: a chart per metric, a line per run. */
function sharedCharts(runs: readonly RunRow[], series: SeriesByRun): { title: string; lines: Line[] }[] {
  const metrics = [...new Set([...series.values()].flatMap((each) => Object.keys(each)))];
  return [...chartsOf(metrics)].flatMap(([chart, members]) =>
    members.map(({ metric, label, split }) => {
      const lines = runs.flatMap((run, i) => {
        const curve = series.get(run.id)?.[metric];
        return curve ? [{ ...toLine(run.path, i, curve, split === ""), onPick: () => go(href("run", run.id)) }] : [];
      });
      const detail = [split, label === split || label === "train" ? "" : label].filter(Boolean).join(", ");
      return { title: `${titleOf(chart)}${detail ? `, ${detail}` : ""}`, lines };
    }),
  );
}

/** All curves of the runs, with one cursor and one range. */
export function Curves({ runs, series, marks }: Props) {
  const { x, smoothing, range, logX, logY } = axesAsked();
  // Rows change more often than curves: a chart is drawn again only when its lines are new.
  const key = runs.map(({ id, path }) => `${id} ${path}`).join();
  const charts = useMemo(
    () => (runs.length === 1 ? ownCharts(runs[0]!, series) : sharedCharts(runs, series)),
    [series, key],
  );
  const zoom = (chosen: Range | undefined) =>
    setQuery({
      from: chosen ? chosen[0].toPrecision(6) : undefined,
      to: chosen ? chosen[1].toPrecision(6) : undefined,
    });
  return (
    <div class="charts">
      {charts.map(({ title, lines }) => (
        <Chart
          key={title}
          title={title}
          lines={lines}
          xTitle={UNITS[x]}
          logX={logX}
          logY={logY}
          smoothing={smoothing}
          syncKey="curves"
          range={range}
          onZoom={zoom}
          {...(marks ? { marks } : {})}
        />
      ))}
    </div>
  );
}
