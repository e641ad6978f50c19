/** Pages that need nothing outside them: one style for light and dark screens, and tables and figures as HTML. */
import { escaped } from "./svg.ts";

const STYLE = `
:root{color-scheme:light dark;--ink:#1f2328;--paper:#fff;--soft:#59636e;--line:#d1d9e0;--panel:#f6f8fa;--yes:#1a7f37;--no:#cf222e;--maybe:#9a6700}
@media(prefers-color-scheme:dark){:root{--ink:#d1d7e0;--paper:#0d1117;--soft:#9198a1;--line:#3d444d;--panel:#151b23;--yes:#3fb950;--no:#f85149;--maybe:#d29922}}
body{font:17px/1.6 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:2rem auto;max-width:1000px;padding:0 1rem}
h1{font-size:2rem;margin-bottom:0}h2{font-size:1.4rem;margin:2.5rem 0 .3rem;border-top:1px solid var(--line);padding-top:1.5rem}
.soft,caption{color:var(--soft)}.finding{font-size:1.15rem}
figure{margin:1rem 0;display:flex;flex-wrap:wrap;gap:1.5rem}svg{max-width:100%;height:auto}
.wide{overflow-x:auto}
table{border-collapse:collapse;margin:1rem 0}caption{text-align:left;font-size:.9rem;white-space:nowrap}
th,td{padding:.25rem .9rem .25rem 0;text-align:right;border-bottom:1px solid var(--line)}th:first-child{text-align:left}
.words{font-size:.95rem}.words caption{white-space:normal}.words th,.words td{text-align:left;vertical-align:top}.words th{font-weight:normal}.words thead th{font-weight:bold}
.dense{font-size:.8rem}.dense caption{white-space:normal}.dense th,.dense td{padding-right:.7rem;white-space:nowrap}.dense thead th{white-space:normal;vertical-align:bottom}
.yes{color:var(--yes)}.no{color:var(--no)}.maybe{color:var(--maybe)}.yes,.no,.maybe{font-weight:600;white-space:nowrap}
pre{background:var(--panel);padding:1rem;border-radius:6px;overflow-x:auto;font-size:.9rem}`;

/** A whole page; `body` is HTML. */
export function pageHtml(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escaped(title)}</title><style>${STYLE}</style></head>
<body><main>
${body}
</main></body>
</html>
`;
}

/** Pictures side by side, as far as there is room. */
export const figureHtml = (...pictures: readonly string[]): string => `<figure>${pictures.join("")}</figure>`;

/** How a table is set. */
export interface TableStyle {
  /** Cells hold sentences, or the table has many columns. */
  readonly kind?: "words" | "dense" | undefined;
  /** The class of a cell by what it says. */
  readonly classOf?: ((cell: string) => string | undefined) | undefined;
}

/** A table; the first cell of a row names it. */
export function tableHtml(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  { kind, classOf }: TableStyle = {},
): string {
  const heads = head.map((text) => `<th scope="col">${escaped(text)}</th>`).join("");
  const cellOf = (cell: string | number) => {
    const named = classOf?.(String(cell));
    return `<td${named === undefined ? "" : ` class="${named}"`}>${escaped(String(cell))}</td>`;
  };
  const lines = rows.map(([first, ...rest]) => {
    return `<tr><th scope="row">${escaped(String(first))}</th>${rest.map(cellOf).join("")}</tr>`;
  });
  const table = `<table${kind === undefined ? "" : ` class="${kind}"`}><caption>${escaped(caption)}</caption><thead><tr>${heads}</tr></thead><tbody>${lines.join("")}</tbody></table>`;
  return `<div class="wide">${table}</div>`;
}
