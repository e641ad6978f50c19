/** How the choice of every block went: a small stacked area per block, candidates over time. */

import type { SearchData, SearchFrame } from "../../src/studio/api.ts";
import { KindLegend } from "./blocks.tsx";
import { percent } from "./format.ts";
import { SERIES } from "./palette.ts";
import { colourOf, letterOf } from "./patterns.ts";

const [WIDTH, HEIGHT] = [120, 44];

interface Props {
  readonly data: SearchData;
  /** The frame that is looked at. */
  readonly index: number;
}

/** One picture per block, and one legend. */
export function Course({ data, index }: Props) {
  const kinds = [...new Set(data.candidates.flat())];
  return (
    <div>
      <KindLegend kinds={kinds} />
      <ol class="course">
        {data.candidates.map((names, block) => (
          <li key={block}>
            <BlockCourse frames={data.frames} names={names} block={block} index={index} />
          </li>
        ))}
      </ol>
    </div>
  );
}

interface BlockProps {
  readonly frames: readonly SearchFrame[];
  readonly names: readonly string[];
  readonly block: number;
  readonly index: number;
}

function BlockCourse({ frames, names, block, index }: BlockProps) {
  const first = frames[0]?.step ?? 0;
  const span = Math.max(1, (frames.at(-1)?.step ?? 1) - first);
  const x = (frame: SearchFrame) => (WIDTH * (frame.step - first)) / span;
  const now = frames[index]?.probabilities[block] ?? [];
  const top = now.reduce((best, value, i) => (value > now[best]! ? i : best), 0);
  const sentence = `block ${block + 1}: ${names[top]} ${percent(now[top] ?? 0)}`;
  return (
    <figure>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={sentence}>
        {names.map((name, candidate) => (
          <path key={name} class={`area-${colourOf(name) % SERIES}`} d={area(frames, block, candidate, x)} />
        ))}
        {frames[index] && <line class="now" x1={x(frames[index])} x2={x(frames[index])} y1="0" y2={HEIGHT} />}
      </svg>
      <figcaption>
        <span class="muted">{block + 1}</span> <b>{letterOf(names[top] ?? "")}</b>{" "}
        <span class="number">{percent(now[top] ?? 0)}</span>
      </figcaption>
    </figure>
  );
}

/** The band of a candidate between what lies below it and itself. */
function area(
  frames: readonly SearchFrame[],
  block: number,
  candidate: number,
  x: (frame: SearchFrame) => number,
): string {
  const below = (frame: SearchFrame, count: number) =>
    (frame.probabilities[block] ?? []).slice(0, count).reduce((sum, value) => sum + value, 0);
  const point = (frame: SearchFrame, count: number) =>
    `${x(frame).toFixed(1)},${(HEIGHT * (1 - below(frame, count))).toFixed(1)}`;
  const upper = frames.map((frame) => point(frame, candidate + 1));
  const lower = frames.map((frame) => point(frame, candidate)).reverse();
  return `M${[...upper, ...lower].join("L")}Z`;
}
