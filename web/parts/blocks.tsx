/** Depth drawn: which block runs at each depth of a plan, or what kind each block of a pattern is. */

import type { ComponentChildren } from "preact";
import { SERIES } from "./palette.ts";
import { colourOf, letterOf } from "./patterns.ts";

/** A plan as boxes in the order of execution; the same block has the same number and colour. */
export function PlanPicture({ plan }: { readonly plan: readonly number[] }) {
  const unique = new Set(plan).size;
  const sentence = `${plan.length} layers run, ${unique} own weights: ${plan.map((block) => block + 1).join(", ")}`;
  return <Boxes label={sentence} boxes={plan.map((block) => ({ text: `${block + 1}`, colour: block }))} />;
}

/** Kinds of blocks as boxes, with a legend. */
export function PatternPicture({ blocks }: { readonly blocks: readonly string[] }) {
  const kinds = [...new Set(blocks)];
  return (
    <div>
      <Boxes
        label={`${blocks.length} blocks: ${blocks.join(", ")}`}
        boxes={blocks.map((kind) => ({ text: letterOf(kind), colour: colourOf(kind) }))}
      />
      <KindLegend kinds={kinds}>
        {(kind) => <b class="number">{blocks.filter((each) => each === kind).length}</b>}
      </KindLegend>
    </div>
  );
}

interface LegendProps {
  readonly kinds: readonly string[];
  /** What stands behind a kind. */
  readonly children?: (kind: string) => ComponentChildren;
}

/** The letters and colours of kinds of blocks. */
export function KindLegend({ kinds, children }: LegendProps) {
  return (
    <ul class="legend">
      {kinds.map((kind) => (
        <li key={kind}>
          <span class={`box small fill-${colourOf(kind) % SERIES}`} aria-hidden="true">
            {letterOf(kind)}
          </span>
          {kind} {children?.(kind)}
        </li>
      ))}
    </ul>
  );
}

function Boxes({
  label,
  boxes,
}: {
  readonly label: string;
  readonly boxes: readonly { readonly text: string; readonly colour: number }[];
}) {
  return (
    <div class="boxes" role="img" aria-label={label}>
      {boxes.map(({ text, colour }, i) => (
        <span key={i} class={`box fill-${colour % SERIES}`}>
          {text}
        </span>
      ))}
    </div>
  );
}
