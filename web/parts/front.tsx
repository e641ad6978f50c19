/** The front of found networks: perplexity against latency, and what to do with each. */
import { useRef, useState } from "preact/hooks";
import type { FrontPoint, JobState, Started } from "../../src/studio/api.ts";
import { jobs } from "../data/live.ts";
import { useAction } from "../data/loaded.ts";
import { asked, href, setQuery } from "../data/route.ts";
import { post, saved } from "../data/server.ts";
import { ticks } from "./curves.ts";
import { figure, short } from "./format.ts";
import { JobLine } from "./jobs.tsx";
import { useWidth } from "./media.ts";
import { Command, Facts, Fault, Table } from "./ui.tsx";

const [HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [300, 56, 40, 22, 24];
const SOURCES: Readonly<Record<FrontPoint["source"], string>> = {
  search: "found by a search",
  retrain: "trained again",
  published: "published pattern",
};

interface Props {
  readonly points: readonly FrontPoint[];
  readonly budgetMs: number | null;
}

/** A scatter whose points say how to train them, and the same as a table. */
export function Front({ points, budgetMs }: Props) {
  const networks = distinct(points);
  const placed = networks.filter(({ ms }) => ms !== null);
  const chosen = networks.find((point) => keyOf(point) === asked("network"));
  const choose = (point: FrontPoint) => setQuery({ network: keyOf(point) });
  return (
    <div class="front">
      {placed.length > 0 && <Legend points={placed} />}
      {placed.length > 0 && <Scatter points={placed} budgetMs={budgetMs} chosen={chosen} onChoose={choose} />}
      {chosen ? (
        <Chosen key={keyOf(chosen)} point={chosen} />
      ) : (
        <p class="muted">Choose a network in the picture or in the table to see how to train it.</p>
      )}
      <PointTable points={networks} chosen={chosen} onChoose={choose} />
    </div>
  );
}

/** Published patterns that come to the same network are one, under all their names. */
function distinct(points: readonly FrontPoint[]): FrontPoint[] {
  const found = new Map<string, FrontPoint>();
  for (const point of points) {
    const key = point.perplexity === null ? `${point.source} ${point.pattern}` : `${point.source} ${point.name}`;
    const same = found.get(key);
    found.set(key, same ? { ...same, name: `${same.name}, ${point.name}` } : point);
  }
  return [...found.values()];
}

/** Names a network in the address. */
const keyOf = ({ source, name, pattern }: FrontPoint) => `${source} ${name} ${pattern}`;

interface Choosing {
  readonly points: readonly FrontPoint[];
  readonly chosen: FrontPoint | undefined;
  readonly onChoose: (point: FrontPoint) => void;
}

/** Only what is in the picture. */
function Legend({ points }: { readonly points: readonly FrontPoint[] }) {
  const sources = (["search", "retrain", "published"] as const).filter((each) =>
    points.some(({ source }) => source === each),
  );
  return (
    <ul class="legend">
      {sources.map((source) => (
        <li key={source} class={`key ${source}`}>
          <svg width="16" height="16" aria-hidden="true">
            <Shape source={source} x={8} y={8} />
          </svg>
          {SOURCES[source]}
          {source === "published" && " (on the axis: not trained here)"}
        </li>
      ))}
    </ul>
  );
}

/** Networks that nobody trained have no perplexity: they stand on the axis. */
function Scatter({ points, budgetMs, chosen, onChoose }: Choosing & { readonly budgetMs: number | null }) {
  const host = useRef<HTMLDivElement>(null);
  const width = useWidth(host) || 640;
  const times = [...points.map(({ ms }) => ms!), ...(budgetMs === null ? [] : [budgetMs])];
  const known = points.flatMap(({ perplexity }) => perplexity ?? []);
  const [left, right] = room(times);
  const [low, high] = room(known.length > 0 ? known : [0, 1]);
  const x = (ms: number) => LEFT + ((ms - left) / (right - left)) * (width - LEFT - RIGHT);
  const y = (value: number | null) =>
    value === null ? HEIGHT - BOTTOM : TOP + ((high - value) / (high - low)) * (HEIGHT - BOTTOM - TOP);
  const labels = placedLabels(
    points.map((point) => ({ text: point.name, x: x(point.ms!), y: y(point.perplexity) })),
    width,
  );
  return (
    <div ref={host}>
      <svg class="scatter" width={width} height={HEIGHT}>
        <title>Networks by latency and perplexity</title>
        {ticks(low, high).map((value) => (
          <g key={value}>
            <line class="grid" x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} />
            <text x={LEFT - 8} y={y(value) + 4} text-anchor="end">
              {+value.toPrecision(5)}
            </text>
          </g>
        ))}
        {ticks(left, right).map((value) => (
          <text key={value} x={x(value)} y={HEIGHT - BOTTOM + 18} text-anchor="middle">
            {+value.toPrecision(4)}
          </text>
        ))}
        <text x={width - RIGHT} y={HEIGHT - 4} text-anchor="end">
          forward milliseconds
        </text>
        <text x="4" y="12">
          perplexity
        </text>
        {budgetMs !== null && (
          <g>
            <line class="budget" x1={x(budgetMs)} x2={x(budgetMs)} y1={TOP} y2={HEIGHT - BOTTOM} />
            <text x={x(budgetMs) + 4} y={TOP + 10}>
              budget
            </text>
          </g>
        )}
        {labels.map(({ text, ...place }) => (
          <text key={text} class="label" {...place}>
            {text}
          </text>
        ))}
        {points.map((point) => (
          // biome-ignore lint/a11y/useSemanticElements: a button cannot stand in an SVG
          <g
            key={keyOf(point)}
            class={`point ${point.source} ${point === chosen ? "chosen" : ""}`}
            role="button"
            tabindex={0}
            aria-pressed={point === chosen}
            aria-label={labelOf(point)}
            onClick={() => onChoose(point)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" && event.key !== " ") return;
              event.preventDefault();
              onChoose(point);
            }}
          >
            <circle class="target" cx={x(point.ms!)} cy={y(point.perplexity)} r="14" />
            <Shape source={point.source} x={x(point.ms!)} y={y(point.perplexity)} />
            <title>{labelOf(point)}</title>
          </g>
        ))}
      </svg>
    </div>
  );
}

interface Place {
  readonly x: number;
  readonly y: number;
}

const [LETTER, LINE] = [6.4, 14];

/** Names beside points, where there is room: right, left, or higher; a name without room is left out, as the table has all. */
function placedLabels(points: readonly (Place & { readonly text: string })[], width: number) {
  const taken = points.map(({ x, y }) => ({ left: x - 8, right: x + 8, top: y - 8, bottom: y + 8 }));
  return points.flatMap(({ text, x, y }) => {
    const long = LETTER * text.length;
    const lefts = [x + 11, x - 11 - long, x - long / 2, x - long / 2, x - 8, x - 8];
    const lines = [0, 0, -1, -2, -3, -4];
    const boxes = lefts.map((left, i) => {
      const middle = y + LINE * lines[i]! - (lines[i]! < 0 ? 2 : 0);
      return { left, right: left + long, top: middle - LINE / 2, bottom: middle + LINE / 2 };
    });
    const free = boxes.find(
      (box) =>
        box.left > LEFT &&
        box.right < width &&
        box.top > TOP &&
        !taken.some(
          (other) =>
            other.left < box.right && box.left < other.right && other.top < box.bottom && box.top < other.bottom,
        ),
    );
    if (!free) return [];
    taken.push(free);
    return [{ text, x: free.left, y: free.bottom - 3 }];
  });
}

const labelOf = ({ name, source, pattern, ms, perplexity }: FrontPoint) =>
  `${name}, ${SOURCES[source]}: ${pattern}, ${figure(ms)} ms, ${perplexity === null ? "not trained here" : `perplexity ${figure(perplexity)}`}`;

/** Each source has a shape, so that colour is not alone. */
function Shape({ source, x, y }: { readonly source: FrontPoint["source"]; readonly x: number; readonly y: number }) {
  if (source === "search") return <circle class="dot" cx={x} cy={y} r="6" />;
  if (source === "retrain") return <rect class="dot" x={x - 5.5} y={y - 5.5} width="11" height="11" />;
  return <path class="dot" d={`M${x},${y - 7}l7,12h-14z`} />;
}

function room(values: readonly number[]): [number, number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const space = high > low ? 0.12 * (high - low) : Math.abs(high) * 0.1 || 1;
  return [low - space, high + space];
}

function Chosen({ point }: { readonly point: FrontPoint }) {
  const { busy, error, run } = useAction();
  const [started, setStarted] = useState<JobState>();
  const job = started && (jobs.value.find(({ id }) => id === started.id) ?? started);
  const retrain = async () => setStarted((await post<Started>("/api/start", point.order)).job);
  return (
    <div class="chosen-point">
      <h3>{point.name}</h3>
      <Facts
        facts={[
          ["pattern", <code key="pattern">{point.pattern}</code>],
          ["forward", point.ms === null ? "–" : `${figure(point.ms)} ms`],
          ["perplexity", figure(point.perplexity)],
          ["parameters", short(point.parameters)],
        ]}
      />
      <Command text={point.retrain} />
      {!saved && (
        <button type="button" class="primary" disabled={busy || job?.state === "opening"} onClick={() => run(retrain)}>
          Train it now
        </button>
      )}
      {point.id && (
        <a class="button" href={href("run", point.id)}>
          Its run
        </a>
      )}
      {job && <Training job={job} />}
      <Fault error={error} />
    </div>
  );
}

/** What was started here: it takes its place in the picture when it has ended. */
function Training({ job }: { readonly job: JobState }) {
  const isOn = job.state === "opening" || job.state === "running";
  return (
    <div role="status">
      <JobLine job={job} />
      {isOn && <p class="hint">Its network joins the picture and the table when it has been trained.</p>}
    </div>
  );
}

function PointTable({ points, chosen, onChoose }: Choosing) {
  return (
    <Table label="Table of networks" heads={["Network", "Pattern", ["ms", "number"], ["Perplexity", "number"], "From"]}>
      {points.map((point) => (
        <tr key={keyOf(point)} class={point === chosen ? "chosen" : ""}>
          <th scope="row">
            <button type="button" class="link" onClick={() => onChoose(point)}>
              {point.name}
            </button>
          </th>
          <td>
            <code>{point.pattern}</code>
          </td>
          <td class="number">{figure(point.ms)}</td>
          <td class="number">{figure(point.perplexity)}</td>
          <td>{SOURCES[point.source]}</td>
        </tr>
      ))}
    </Table>
  );
}
