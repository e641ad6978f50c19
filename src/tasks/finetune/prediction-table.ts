/** Predictions for people and for files: a table of the terminal, or lines with tabs. */
import { type Row, table } from "../../base/table.ts";
import type { PlainText } from "../../text/labelled/text-task.ts";
import type { HeadReport } from "./head-report.ts";
import type { Prediction } from "./predictions.ts";

/** A text with what a run says of it; `depth` is the mean over tokens, null where none halt. */
export type PredictedRow = PlainText & Pick<Prediction, "label" | "scores"> & { readonly depth: number | null };

/** A text and its prediction in one row. */
export function predictedRow({ text, pair }: PlainText, { label, scores, depths }: Prediction): PredictedRow {
  const depth = depths ? depths.reduce((sum, each) => sum + each.depth, 0) / depths.length : null;
  return { text, ...(pair === undefined ? {} : { pair }), label, scores, depth };
}

/** Predictions as rows of data, as text for the terminal, and as a file with tabs. */
export function predictionReport(texts: readonly PlainText[], found: readonly Prediction[]): HeadReport {
  const rows = found.map((prediction, i) => predictedRow(texts[i]!, prediction));
  return { rows, text: `${predictionTable(rows)}\n`, file: predictionLines(rows) };
}

/** Predictions as a table: texts cut short, of many classes only the label's own score. */
export const predictionTable = (rows: readonly PredictedRow[]): string => table(rows.map(shown));

const LONGEST = 40;
const cut = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
const labelText = (label: Prediction["label"]) =>
  typeof label === "number" ? label.toFixed(4) : typeof label === "string" ? label : label.join(", ") || "–";

/** A row for the terminal: of many classes only the label's own score is shown. */
function shown({ text, pair, label, scores, depth }: PredictedRow): Row {
  const own = (typeof label === "object" ? label : [label]).flatMap((name) => scores[name]?.toFixed(3) ?? []);
  return {
    text: cut(text),
    ...(pair === undefined ? {} : { pair: cut(pair) }),
    label: labelText(label),
    ...(Object.keys(scores).length > 0 ? { score: own.join(", ") } : {}),
    ...(depth === null ? {} : { depth: depth.toFixed(2) }),
  };
}

/** Predictions with tabs between: tabs and ends of lines in texts become spaces. */
export function predictionLines(rows: readonly PredictedRow[]): string {
  const plain = (text: string) => text.replace(/[\t\r\n]+/g, " ");
  const names = Object.keys(rows[0]?.scores ?? {});
  const [paired, deep] = [rows.some(({ pair }) => pair !== undefined), rows.some(({ depth }) => depth !== null)];
  const header = ["text", ...(paired ? ["pair"] : []), "label", ...names, ...(deep ? ["depth"] : [])];
  const lines = rows.map(({ text, pair = "", label, scores, depth }) => [
    plain(text),
    ...(paired ? [plain(pair)] : []),
    typeof label === "object" ? label.join(",") : `${label}`,
    ...names.map((name) => `${scores[name]}`),
    ...(deep ? [`${depth ?? ""}`] : []),
  ]);
  return `${[header.map(plain), ...lines].map((cells) => cells.join("\t")).join("\n")}\n`;
}
