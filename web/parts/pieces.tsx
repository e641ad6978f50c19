/** A text whose pieces carry numbers: coloured and labelled by depth, with the details of one piece on hover and focus. */
import type { ComponentChildren } from "preact";
import { css, inkOn, scale } from "./palette.ts";

/** A piece of a text. */
export interface Piece {
  readonly text: string;
  /** Depth, where the model has one per token. */
  readonly depth: number | null;
  /** What stands under it. Default: its depth. */
  readonly under?: string;
  /** What is said of it: `depth 3 of 6`. */
  readonly label: string;
}

interface Props {
  readonly label: string;
  readonly pieces: readonly Piece[];
  readonly cap: number | null;
  readonly onShow: (index: number | undefined) => void;
}

/** Pieces in a row; each can be reached with the keyboard. */
export function Pieces({ label, pieces, cap, onShow }: Props) {
  return (
    <ol class="pieces" aria-label={label} onPointerLeave={() => onShow(undefined)}>
      {pieces.map((piece, i) => (
        <li key={i}>
          <button
            type="button"
            class="piece"
            style={colours(piece.depth, cap)}
            onFocus={() => onShow(i)}
            onPointerEnter={() => onShow(i)}
          >
            <span class="piece-text">{shown(piece.text)}</span>
            <span class="piece-depth number" aria-hidden="true">
              {piece.under ?? piece.depth}
            </span>
            <span class="sr-only">{piece.label}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}

function colours(depth: number | null, cap: number | null): Record<string, string> {
  if (depth === null || cap === null) return {};
  const colour = scale(cap > 1 ? (depth - 1) / (cap - 1) : 1);
  return { backgroundColor: css(colour), color: inkOn(colour) };
}

/** SentencePiece's mark of a space, as a space that can be seen. */
const shown = (piece: string) => piece.replaceAll("▁", "\u2009").replaceAll("\n", "↵").trimStart() || "␣";

/** A scale of depths, from 1 to the most. */
export function DepthScale({ cap }: { readonly cap: number }) {
  return (
    <div class="depth-scale" role="img" aria-label={`colours from depth 1 to depth ${cap}`}>
      <span>depth</span>
      {Array.from({ length: cap }, (_, i) => (
        <b key={i} class="number" style={colours(i + 1, cap)}>
          {i + 1}
        </b>
      ))}
    </div>
  );
}

/** Fractions as bars with their numbers. */
export function Bars({
  rows,
  empty,
}: {
  readonly rows: readonly { readonly name: ComponentChildren; readonly fraction: number; readonly text: string }[];
  readonly empty?: string;
}) {
  if (rows.length === 0) return <p class="muted">{empty}</p>;
  return (
    <ul class="bars">
      {rows.map(({ name, fraction, text }, i) => (
        <li key={i}>
          <span class="bar-name">{name}</span>
          <span class="bar-track" aria-hidden="true">
            <span class="bar-fill" style={{ width: `${(100 * Math.max(0, Math.min(1, fraction))).toFixed(1)}%` }} />
          </span>
          <span class="number">{text}</span>
        </li>
      ))}
    </ul>
  );
}
