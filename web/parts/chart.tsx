/** One chart for one run and for many: lines over a shared axis, raw behind smoothed, a cursor shared by all charts of a view. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type Curve, joined, logTicks, smoothed } from "./curves.ts";
import { curveSentence, figure } from "./format.ts";
import { darkMode } from "./media.ts";
import { dashOf, SERIES, token } from "./palette.ts";

/** A line of a chart. */
export interface Line extends Curve {
  readonly label: string;
  /** Which of the page's colours. */
  readonly colour: number;
  /** A dashed line beside the solid one of the same colour: a budget, a target. */
  readonly dashed?: boolean;
  /** False: never smoothed, for the few points of evaluations. */
  readonly smooth?: boolean;
  /** What a click on the line opens. */
  readonly onPick?: () => void;
}

/** A moment on the axis with a name: a cut, a settling, an end. */
export interface Mark {
  readonly x: number;
  readonly label: string;
}

export type Range = readonly [number, number];

interface Props {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly xTitle: string;
  readonly logX?: boolean;
  readonly logY?: boolean;
  /** Weight of the past in the moving average, 0 to 1. */
  readonly smoothing?: number;
  readonly marks?: readonly Mark[];
  /** Charts of one key share their cursor. */
  readonly syncKey?: string;
  readonly range?: Range | undefined;
  readonly onZoom?: (range: Range | undefined) => void;
  readonly height?: number;
}

/** Lines over an axis, with a legend that shows the values under the cursor and a sentence for screen readers. */
export function Chart(props: Props) {
  const { title, lines, xTitle, height = 220 } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [cursor, setCursor] = useState<number | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const data = useMemo(() => dataOf(props), [lines, props.smoothing, props.logX, props.logY]);
  const shape = `${lines.map(({ label, colour, dashed }) => `${label} ${colour} ${dashed}`).join("|")} ${props.logX} ${props.logY} ${(props.smoothing ?? 0) > 0} ${xTitle} ${darkMode.value} ${height}`;

  useEffect(() => {
    const element = host.current!;
    const drawn = new uPlot(optionsOf(latest, element.clientWidth, setCursor), data, element);
    plot.current = drawn;
    const watcher = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      drawn.destroy();
      plot.current = undefined;
    };
  }, [shape]);

  // What is out of sight is drawn when it comes into sight.
  const [seen, setSeen] = useState(true);
  useEffect(() => {
    const watcher = new IntersectionObserver(([entry]) => setSeen(entry?.isIntersecting === true));
    watcher.observe(host.current!);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => {
    if (seen) plot.current?.setData(data);
  }, [seen, seen && data, props.range?.[0], props.range?.[1]]);
  useEffect(() => plot.current?.redraw(false), [props.marks]);

  const at = cursor === null ? undefined : data[0][cursor];
  const sentence = useMemo(
    () => `${title}. ${lines.map((line) => sentenceOf(line, xTitle)).join(". ")}.`,
    [title, lines, xTitle],
  );
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        <span class="chart-at number">{at === undefined ? "" : `${xTitle} ${figure(at)}`}</span>
      </figcaption>
      <ul class="legend">
        {lines.map((line, i) => (
          <li key={`${line.label} ${i}`}>
            <Swatch {...line} />
            {line.onPick ? (
              <button type="button" class="link" onClick={line.onPick}>
                {line.label}
              </button>
            ) : (
              <span>{line.label}</span>
            )}
            <b class="number">{figure(valueAt(data, cursor, i, lines.length))}</b>
          </li>
        ))}
      </ul>
      <div class="plot" ref={host} role="img" aria-label={sentence} />
    </figure>
  );
}

/** A line's colour and dash, as in the chart. */
export function Swatch({ colour, dashed }: { readonly colour: number; readonly dashed?: boolean }) {
  return (
    <svg class={`swatch series-${colour % SERIES}`} viewBox="0 0 20 8" aria-hidden="true">
      <line x1="0" x2="20" y1="4" y2="4" stroke-dasharray={dashOfLine(colour, dashed).join(" ") || undefined} />
    </svg>
  );
}

const dashOfLine = (colour: number, dashed = false) => (dashed ? [4, 4] : [...dashOf(colour)]);

/** Columns: x, then the lines; with smoothing the raw ones first. */
function dataOf({ lines, smoothing = 0, logX, logY }: Props): uPlot.AlignedData {
  const usable = lines.map((line) => positive(line, logX === true, logY === true));
  const shown = usable.map(({ x, y }, i) => ({ x, y: lines[i]!.smooth === false ? y : smoothed(y, smoothing) }));
  return joined(smoothing > 0 ? [...usable, ...shown] : shown) as uPlot.AlignedData;
}

/** What a logarithmic axis can show. */
function positive({ x, y }: Curve, logX: boolean, logY: boolean): Curve {
  const kept = x.map((value, i) => ({ x: value, y: y[i] ?? null })).filter((each) => !logX || each.x > 0);
  return { x: kept.map((each) => each.x), y: kept.map((each) => (logY && !(each.y! > 0) ? null : each.y)) };
}

/** The value under the cursor, or the last one. */
function valueAt(data: uPlot.AlignedData, cursor: number | null, line: number, count: number): number | undefined {
  const column = data[data.length - count + line];
  for (let i = cursor ?? (column?.length ?? 0) - 1; i >= 0; i--) if (column?.[i] != null) return column[i]!;
  return undefined;
}

const sentenceOf = ({ label, x, y }: Line, unit: string) =>
  curveSentence(
    label,
    x,
    y.map((value) => value ?? Number.NaN),
    unit,
  );

interface Latest {
  readonly current: Props;
}

function optionsOf(latest: Latest, width: number, onCursor: (index: number | null) => void): uPlot.Options {
  const { lines, height = 220, smoothing = 0, syncKey, logX, logY } = latest.current;
  const raw = smoothing > 0 ? lines.map((line) => seriesOf(line, true)) : [];
  return {
    width,
    height,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      ...(syncKey === undefined ? {} : { sync: { key: syncKey, scales: ["x", null] as [string, null] } }),
      drag: { x: true, y: false, setScale: false },
      points: { size: 7 },
    },
    scales: {
      x: {
        time: false,
        distr: logX ? 3 : 1,
        range: (_, min, max) => [...(latest.current.range ?? widened(min, max))] as Range2,
      },
      y: { distr: logY ? 3 : 1, range: (_, min, max) => padded(min, max, logY === true) },
    },
    axes: [
      { ...axis(logX === true), size: 30 },
      { ...axis(logY === true), size: 56 },
    ],
    series: [{}, ...raw, ...lines.map((line) => seriesOf(line, false))],
    hooks: {
      draw: [(plot) => drawMarks(plot, latest.current.marks ?? [])],
      setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)],
      setSelect: [(plot) => zoom(plot, latest)],
      ready: [(plot) => watchPointer(plot, latest)],
    },
  };
}

type Range2 = [number, number];

const widened = (min: number, max: number): Range2 => (min < max ? [min, max] : [min - 1, max + 1]);

function padded(min: number, max: number, log: boolean): Range2 {
  if (!Number.isFinite(min) || !Number.isFinite(max)) return log ? [1, 10] : [0, 1];
  if (log) return min < max ? [min * (min / max) ** 0.05, max * (max / min) ** 0.05] : [min / 2, max * 2];
  const room = max > min ? 0.06 * (max - min) : Math.abs(max) * 0.1 || 1;
  return [min - room, max + room];
}

function axis(log: boolean): uPlot.Axis {
  return {
    stroke: token("muted"),
    font: `12px ${token("font")}`,
    grid: { stroke: token("line"), width: 1 },
    ticks: { show: false },
    gap: 6,
    values: (_, splits) => splits.map((value) => (value === null ? "" : tick(value))),
    ...(log ? { splits: (_plot, _axis, min, max) => logTicks(min, max), filter: (_, splits) => splits } : {}),
  };
}

/** 12,000 is too long for an axis. */
function tick(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toFixed(2)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toFixed(1)}k`;
  return size > 0 && size < 1e-3 ? value.toExponential(0) : String(+value.toPrecision(6));
}

function seriesOf({ label, colour, dashed, x }: Line, raw: boolean): uPlot.Series {
  const stroke = token(`series-${colour % SERIES}`);
  return {
    label,
    stroke,
    spanGaps: true,
    width: raw ? 1 : 1.75,
    alpha: raw ? 0.28 : 1,
    dash: dashOfLine(colour, dashed),
    points: { show: !raw && !dashed && x.length <= 24, size: 5, fill: stroke, stroke },
  };
}

function drawMarks(plot: uPlot, marks: readonly Mark[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = token("edge");
  ctx.fillStyle = token("muted");
  ctx.font = `${11 * devicePixelRatio}px ${token("font")}`;
  ctx.textAlign = "left";
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  let free = Number.NEGATIVE_INFINITY; // labels that would run into one another are left out; the list names all
  for (const { x, label } of marks.toSorted((a, b) => a.x - b.x)) {
    const at = Math.round(plot.valToPos(x, "x", true));
    if (at < bbox.left || at > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.stroke();
    const from = at + 4 * devicePixelRatio;
    const until = from + ctx.measureText(label).width;
    if (label === "" || from < free || until > bbox.left + bbox.width) continue;
    drawHalo(ctx, label, from, bbox.top + 11 * devicePixelRatio);
    ctx.fillText(label, from, bbox.top + 11 * devicePixelRatio);
    free = until + 6 * devicePixelRatio;
  }
  ctx.restore();
}

/** Room around a label, where lines run behind it. */
function drawHalo(ctx: CanvasRenderingContext2D, label: string, x: number, y: number): void {
  ctx.save();
  ctx.setLineDash([]);
  ctx.strokeStyle = token("surface");
  ctx.lineWidth = 4 * devicePixelRatio;
  ctx.lineJoin = "round";
  ctx.strokeText(label, x, y);
  ctx.restore();
}

function zoom(plot: uPlot, latest: Latest): void {
  const { left, width } = plot.select;
  if (width > 4) latest.current.onZoom?.([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

function watchPointer(plot: uPlot, latest: Latest): void {
  plot.over.addEventListener("dblclick", () => latest.current.onZoom?.(undefined));
  plot.over.addEventListener("mouseleave", () => plot.setCursor({ left: -10, top: -10 }));
  plot.over.addEventListener("click", ({ offsetY }) => nearest(plot, latest.current.lines, offsetY)?.onPick?.());
}

/** The line within 12 pixels of the pointer. */
function nearest(plot: uPlot, lines: readonly Line[], y: number): Line | undefined {
  const index = plot.cursor.idx;
  if (index == null) return undefined;
  const distances = lines.map((line, i) => {
    const value = plot.data[plot.data.length - lines.length + i]?.[index];
    return { line, distance: value == null ? Number.POSITIVE_INFINITY : Math.abs(plot.valToPos(value, "y") - y) };
  });
  const best = distances.reduce((a, b) => (b.distance < a.distance ? b : a), distances[0]!);
  return best.distance <= 12 ? best.line : undefined;
}
