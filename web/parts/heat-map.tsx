/** A heat map on a canvas: columns × rows of fractions, walked through with the arrow keys, and the same as a table. */
import { useEffect, useRef, useState } from "preact/hooks";
import { asked, setQuery } from "../data/route.ts";
import { percent } from "./format.ts";
import { darkMode, useWidth } from "./media.ts";
import { css, inkOn, scale, token } from "./palette.ts";
import { Scroll } from "./ui.tsx";

interface Props {
  /** What it shows, for screen readers: "π at step 1,200". */
  readonly label: string;
  readonly columnTitle: string;
  readonly columns: readonly string[];
  readonly rows: readonly string[];
  /** Fraction of a cell; undefined where there is none (a candidate that was cut). */
  readonly at: (column: number, row: number) => number | undefined;
}

const [LEFT, TOP, ROW, GAP] = [92, 4, 40, 2];

/** Fractions by column and row. Arrows move from cell to cell, Home and End to the ends of a row. */
export function HeatMap(props: Props) {
  const { label, columns, rows, at, columnTitle } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [cell, setCell] = useState<{ column: number; row: number }>();
  const asTable = asked("as") === "table";
  const host = useRef<HTMLDivElement>(null);
  const width = useWidth(host);
  useEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, width, props, cell);
  });
  const move = (event: KeyboardEvent) => {
    const next = neighbour(cell, event.key, columns.length, rows.length);
    if (!next) return;
    event.preventDefault();
    setCell(next);
  };
  const point = (event: PointerEvent) => setCell(cellAt(event, width, columns.length, rows.length));
  return (
    <div class="heat-map" ref={host} data-scheme={darkMode.value ? "dark" : "light"}>
      {asTable ? (
        <CellTable {...props} />
      ) : (
        <canvas
          ref={canvas}
          role="img"
          aria-label={`${label}. ${summary(props)} Arrow keys read single cells.`}
          tabIndex={0}
          onKeyDown={move}
          onPointerMove={point}
          onPointerLeave={() => setCell(undefined)}
          onBlur={() => setCell(undefined)}
        />
      )}
      <div class="row between">
        <output class="number" aria-live="polite">
          {cell
            ? `${columnTitle} ${columns[cell.column]}, ${rows[cell.row]}: ${valueText(at(cell.column, cell.row))}`
            : ""}
        </output>
        <button
          type="button"
          class="quiet"
          aria-pressed={asTable}
          onClick={() => setQuery({ as: asTable ? undefined : "table" })}
        >
          {asTable ? "Show as map" : "Show as table"}
        </button>
      </div>
    </div>
  );
}

const valueText = (value: number | undefined) => (value === undefined ? "cut" : percent(value, 1));

/** The most probable row of each column. */
function summary({ columns, rows, at, columnTitle }: Props): string {
  const best = columns.map((name, column) => {
    const row = rows
      .map((_, i) => at(column, i) ?? -1)
      .reduce((top, value, i, all) => (value > all[top]! ? i : top), 0);
    return `${columnTitle} ${name}: ${rows[row]} ${valueText(at(column, row))}`;
  });
  return `Most probable: ${best.join(", ")}.`;
}

function CellTable({ columns, rows, at, columnTitle }: Props) {
  return (
    <Scroll label="table">
      <table>
        <thead>
          <tr>
            <th scope="col">{columnTitle}</th>
            {rows.map((row) => (
              <th scope="col" class="number" key={row}>
                {row}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {columns.map((name, column) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {rows.map((row, i) => (
                <td class="number" key={row}>
                  {valueText(at(column, i))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

interface Cell {
  readonly column: number;
  readonly row: number;
}

const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  Home: [Number.NEGATIVE_INFINITY, 0],
  End: [Number.POSITIVE_INFINITY, 0],
};

/** Where a key leads from a cell; the first press enters the map. */
export function neighbour(cell: Cell | undefined, key: string, columns: number, rows: number): Cell | undefined {
  const step = MOVES[key];
  if (!step) return undefined;
  if (!cell) return { column: 0, row: 0 };
  const clamp = (value: number, count: number) => Math.max(0, Math.min(count - 1, value));
  return { column: clamp(cell.column + step[0], columns), row: clamp(cell.row + step[1], rows) };
}

const cellWidth = (width: number, columns: number) => Math.min(190, (width - LEFT) / columns);

function cellAt({ offsetX, offsetY }: PointerEvent, width: number, columns: number, rows: number): Cell | undefined {
  const column = Math.floor((offsetX - LEFT) / cellWidth(width, columns));
  const row = Math.floor((offsetY - TOP) / ROW);
  return column >= 0 && column < columns && row >= 0 && row < rows ? { column, row } : undefined;
}

function draw(canvas: HTMLCanvasElement, width: number, { columns, rows, at }: Props, cell: Cell | undefined): void {
  const height = TOP + rows.length * ROW + 26;
  const ratio = devicePixelRatio || 1;
  [canvas.width, canvas.height] = [width * ratio, height * ratio];
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  context.textBaseline = "middle";
  const each = cellWidth(width, columns.length);
  const write = (text: string, x: number, y: number, colour: string, align: CanvasTextAlign) => {
    context.fillStyle = colour;
    context.textAlign = align;
    context.fillText(text, x, y);
  };
  context.font = `13px ${token("font")}`;
  rows.forEach((row, i) => {
    write(row, LEFT - 10, TOP + (i + 0.5) * ROW, token("muted"), "right");
  });
  context.font = `12px ${token("font")}`;
  const every = Math.ceil(22 / each);
  columns.forEach((name, column) => {
    const x = LEFT + column * each;
    if (column % every === 0) write(name, x + each / 2, height - 12, token("muted"), "center");
    rows.forEach((_, row) => {
      const [y, value] = [TOP + row * ROW, at(column, row)];
      context.fillStyle = value === undefined ? token("raised") : css(scale(value));
      context.fillRect(x, y, each - GAP, ROW - GAP);
      const text = value === undefined ? "–" : `${Math.round(100 * value)}`;
      const ink = value === undefined ? token("muted") : inkOn(scale(value));
      if (each >= 26) write(text, x + (each - GAP) / 2, y + ROW / 2, ink, "center");
    });
  });
  if (!cell) return;
  context.strokeStyle = token("text");
  context.lineWidth = 2;
  context.strokeRect(LEFT + cell.column * each - 1, TOP + cell.row * ROW - 1, each, ROW);
}
