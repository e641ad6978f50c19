/** Pictures of a sweep: candidates as lines across all settings, and the figure against each setting. */
import { useRef } from "preact/hooks";
import type { SweepAnswer, SweepCandidate } from "../../src/studio/api.ts";
import { figureText, keyOf, sentenceOf, valuesText } from "../data/sweep.ts";
import { axisOf, type ValueAxis } from "./axes.ts";
import { useWidth } from "./media.ts";
import { Scroll } from "./ui.tsx";

interface Props {
  readonly sweep: SweepAnswer;
  readonly chosen: SweepCandidate | undefined;
  readonly onChoose: (candidate: SweepCandidate) => void;
}

const [HEIGHT, TOP, BOTTOM, SIDE, LEAST] = [300, 34, 12, 64, 104];

/** The best first: what the arrow keys walk through. */
const ranked = ({ candidates }: SweepAnswer) => candidates.filter(({ figure }) => figure !== null);
const figures = (sweep: SweepAnswer) => ranked(sweep).map(({ figure }) => figure!.mean);

function settingAxes({ varies, candidates }: SweepAnswer): ValueAxis[] {
  const valuesOf = (name: string) => candidates.map(({ values }) => values[name]);
  return varies.map(({ name, log }) => axisOf(name, valuesOf(name), log ? "log" : "setting"));
}

/** What is said of a candidate. */
function saidOf(sweep: SweepAnswer, candidate: SweepCandidate): string {
  const rank = ranked(sweep).indexOf(candidate);
  const place = rank < 0 ? "no figure yet" : `rank ${rank + 1} of ${ranked(sweep).length}`;
  return `${place}: ${valuesText(candidate)}: ${sweep.figure} ${figureText(candidate)}`;
}

/** Parallel coordinates: an axis per setting, the figure last. Candidates under way end before it. */
export function ParallelCoordinates({ sweep, chosen, onChoose }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const given = useWidth(host) || 640;
  const settings = settingAxes(sweep);
  const axes = ranked(sweep).length > 0 ? [...settings, axisOf(sweep.figure, figures(sweep), "figure")] : settings;
  const width = Math.max(given, 2 * SIDE + (axes.length - 1) * LEAST);
  const x = (i: number) => SIDE + (i * (width - 2 * SIDE)) / Math.max(1, axes.length - 1);
  const y = (at: number) => HEIGHT - BOTTOM - at * (HEIGHT - TOP - BOTTOM);
  const best = sweep.best === null ? undefined : sweep.candidates[sweep.best];
  const pointsOf = ({ values, figure }: SweepCandidate) =>
    axes.flatMap((axis, i) => {
      const value = i < settings.length ? values[axis.name] : figure?.mean;
      return value === undefined ? [] : [`${x(i).toFixed(1)},${y(axis.at(value)).toFixed(1)}`];
    });
  const move = (event: KeyboardEvent) => {
    const next = neighbour(ranked(sweep), chosen, event.key);
    if (!next) return;
    event.preventDefault();
    onChoose(next);
  };
  // The best and the chosen one are drawn last, over the others.
  const order = [...sweep.candidates].sort((a, b) => weightOf(a, best, chosen) - weightOf(b, best, chosen));
  return (
    <div class="parallel" ref={host}>
      <Scroll label="Parallel coordinates">
        <svg
          width={width}
          height={HEIGHT}
          role="img"
          // In SVG only the lower-case name counts.
          tabindex={0}
          aria-label={`Candidates across ${axes.map(({ name }) => name).join(", ")}. ${best ? `Best so far: ${saidOf(sweep, best)}.` : "No figure yet."} Arrow keys read single candidates.`}
          onKeyDown={move}
        >
          {order.map((each) => (
            // biome-ignore lint/a11y/noStaticElementInteractions: the picture as a whole takes keys
            <g key={keyOf(each)} onClick={() => onChoose(each)}>
              <polyline class="target" points={pointsOf(each).join(" ")} />
              <polyline class={`line ${classOf(each, best, chosen)}`} points={pointsOf(each).join(" ")} />
              <title>{saidOf(sweep, each)}</title>
            </g>
          ))}
          {axes.map((axis, i) => (
            <g key={axis.name} class="axis">
              <line x1={x(i)} x2={x(i)} y1={TOP} y2={HEIGHT - BOTTOM} />
              <text class="axis-name" x={x(i)} y={16} text-anchor="middle">
                {axis.name}
              </text>
              {axis.ticks.map(({ at, text }) => (
                <text key={text} {...labelAt(x(i), i === axes.length - 1)} y={y(at) + 4}>
                  {text.length > 12 ? `${text.slice(0, 11)}…` : text}
                </text>
              ))}
            </g>
          ))}
        </svg>
      </Scroll>
      <output class="number" aria-live="polite">
        {chosen ? saidOf(sweep, chosen) : best ? `Best so far: ${saidOf(sweep, best)}` : ""}
      </output>
    </div>
  );
}

/** Before an axis; after the last one, where no line runs. */
const labelAt = (x: number, isLast: boolean) =>
  isLast ? { x: x + 8, "text-anchor": "start" as const } : { x: x - 8, "text-anchor": "end" as const };

const weightOf = (each: SweepCandidate, best?: SweepCandidate, chosen?: SweepCandidate) =>
  each === chosen ? 2 : each === best ? 1 : 0;

function classOf(each: SweepCandidate, best?: SweepCandidate, chosen?: SweepCandidate): string {
  const state = each.figure === null ? "open" : "ended";
  return `candidate ${state} ${each === best ? "best" : ""} ${each === chosen ? "chosen" : ""}`;
}

/** Where a key leads among the ranked; the first press begins with the best. */
export function neighbour<T>(all: readonly T[], from: T | undefined, key: string): T | undefined {
  const at = from === undefined ? -1 : all.indexOf(from);
  if (key === "Home") return all[0];
  if (key === "End") return all.at(-1);
  if (key === "ArrowRight" || key === "ArrowDown") return all[Math.min(all.length - 1, at + 1)];
  return key === "ArrowLeft" || key === "ArrowUp" ? all[Math.max(0, at - 1)] : undefined;
}

const [HIGH, LEFT, LOW] = [240, 44, 30];

/** Of a chart, left and right. */
const PADDING = 14;

/** The figure of every trial against each setting that varies. */
export function Scatters(props: Props) {
  return (
    <>
      {settingAxes(props.sweep).map((axis) => (
        <Scatter key={axis.name} axis={axis} {...props} />
      ))}
    </>
  );
}

function Scatter({ sweep, axis, chosen, onChoose }: Props & { readonly axis: ValueAxis }) {
  const all = ranked(sweep);
  const best = sweep.best === null ? undefined : sweep.candidates[sweep.best];
  const up = axisOf(
    sweep.figure,
    all.flatMap(({ figure }) => figure!.values),
    "figure",
  );
  const host = useRef<HTMLElement>(null);
  const wide = Math.max(160, (useWidth(host) || 280) - 2 * PADDING);
  const x = (at: number) => LEFT + at * (wide - LEFT - 10);
  const y = (at: number) => HIGH - LOW - at * (HIGH - LOW - 8);
  return (
    <figure class="chart" ref={host}>
      <figcaption>
        <span class="chart-title">
          {sweep.figure} against {axis.name}
        </span>
      </figcaption>
      <svg class="scatter" width={wide} height={HIGH} role="img" aria-label={sentenceOf(axis.name, sweep)}>
        {up.ticks.map(({ at, text }) => (
          <g key={text}>
            <line class="grid" x1={LEFT} x2={wide - 10} y1={y(at)} y2={y(at)} />
            <text x={LEFT - 6} y={y(at) + 4} text-anchor="end">
              {text}
            </text>
          </g>
        ))}
        {axis.ticks.map(({ at, text }) => (
          <text key={text} x={x(at)} y={HIGH - 10} text-anchor="middle">
            {text.length > 9 ? `${text.slice(0, 8)}…` : text}
          </text>
        ))}
        {all.map((each) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the table has a button for each
          <g key={keyOf(each)} class={`trial ${classOf(each, best, chosen)}`} onClick={() => onChoose(each)}>
            {each.figure!.values.map((value, i) => (
              <circle
                key={i}
                cx={x(axis.at(each.values[axis.name]))}
                cy={y(up.at(value))}
                r={each === chosen ? 7 : 5}
              />
            ))}
            <title>{saidOf(sweep, each)}</title>
          </g>
        ))}
      </svg>
    </figure>
  );
}
