/** A report on a paper that was run again: blocks of text, tables and pictures, written as HTML, as Markdown, and as SVG beside it. */
import { join } from "node:path";
import { writeAtomically } from "../../files/atomic.ts";
import { figureHtml, pageHtml, tableHtml } from "../../pictures/page.ts";
import { type SpreadOptions, type SpreadRow, spreadsSvg } from "../../pictures/spread-picture.ts";
import { escaped } from "../../pictures/svg.ts";
import { type TradeOff, tradeOffSvg } from "../../pictures/trade-off-picture.ts";

/** A piece of a report; pictures have a name, that of their file. */
export type Block =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "code"; readonly lines: readonly string[] }
  | {
      readonly type: "table";
      readonly caption: string;
      readonly head: readonly string[];
      readonly rows: readonly (readonly string[])[];
      /** Cells hold sentences. */
      readonly words?: boolean | undefined;
    }
  | ({ readonly type: "spreads"; readonly name: string; readonly rows: readonly SpreadRow[] } & SpreadOptions)
  | {
      readonly type: "trade-offs";
      readonly name: string;
      readonly title: string;
      readonly rows: readonly TradeOff[];
    }
  | { readonly type: "svg"; readonly name: string; readonly title: string; readonly svg: string };

/** Blocks under a heading. */
export interface ReportSection {
  readonly title: string;
  readonly blocks: readonly Block[];
}

/** A whole report. */
export interface PaperReport {
  readonly title: string;
  /** The paper, as it is cited. */
  readonly source: string;
  /** The first sentences. */
  readonly lead: readonly string[];
  readonly sections: readonly ReportSection[];
}

/** Where a report lies. */
export interface ReportFiles {
  readonly html: string;
  readonly markdown: string;
}

/** Files of a report by name. */
export function reportFiles(report: PaperReport): Readonly<Record<string, string>> {
  const pictures = report.sections.flatMap(({ blocks }) =>
    blocks.flatMap((block) => ("name" in block ? [[pictureFile(block.name), drawn(block)] as const] : [])),
  );
  return { ...Object.fromEntries(pictures), "report.md": markdownOf(report), "report.html": htmlOf(report) };
}

/** Writes a report into a folder, the page last: one that is there has its pictures. */
export async function writeReport(folder: string, report: PaperReport): Promise<ReportFiles> {
  for (const [name, text] of Object.entries(reportFiles(report))) await writeAtomically(join(folder, name), text);
  return { html: join(folder, "report.html"), markdown: join(folder, "report.md") };
}

const pictureFile = (name: string) => `figures/${name}.svg`;

function drawn(block: Extract<Block, { readonly name: string }>): string {
  if (block.type === "spreads") return spreadsSvg(block.rows, block);
  return block.type === "svg" ? block.svg : tradeOffSvg(block.rows, block.title);
}

/** Columns beyond which a table is set smaller. */
const MANY = 8;

/** Words of a verdict that are coloured. */
const verdictClasses: Readonly<Record<string, string>> = {
  agreed: "yes",
  "not agreed": "no",
  "within deviation": "maybe",
};

function htmlOf({ title, source, lead, sections }: PaperReport): string {
  const first = lead.map((text) => `<p class="finding">${escaped(text)}</p>`);
  const parts = sections.map(({ title: heading, blocks }, i) => {
    return `<section aria-labelledby="part-${i + 1}"><h2 id="part-${i + 1}">${escaped(heading)}</h2>\n${blocks.map(blockHtml).join("\n")}</section>`;
  });
  const body = [`<h1>${escaped(title)}</h1>`, `<p class="soft">${escaped(source)}</p>`, ...first, ...parts];
  return pageHtml(title, body.join("\n"));
}

function blockHtml(block: Block): string {
  if (block.type === "text") return `<p>${escaped(block.text)}</p>`;
  if (block.type === "code") return `<pre>${escaped(block.lines.join("\n"))}</pre>`;
  if (block.type !== "table") return figureHtml(drawn(block));
  const { caption, head, rows, words } = block;
  const kind = words ? "words" : head.length > MANY ? "dense" : undefined;
  return tableHtml(caption, head, rows, { kind, classOf: (cell) => verdictClasses[cell] });
}

function markdownOf({ title, source, lead, sections }: PaperReport): string {
  const parts = sections.flatMap(({ title: heading, blocks }) => [`## ${heading}`, ...blocks.map(blockMarkdown)]);
  return `${[`# ${title}`, source, ...lead, ...parts].join("\n\n")}\n`;
}

/** Characters that would end a cell, or begin a link or emphasis. */
const cellText = (text: string) => text.replace(/[|\\[\]*_<]/g, "\\$&");

function blockMarkdown(block: Block): string {
  if (block.type === "text") return cellText(block.text);
  if (block.type === "code") return `\`\`\`sh\n${block.lines.join("\n")}\n\`\`\``;
  if (block.type !== "table") return `![${cellText(block.title)}](${pictureFile(block.name)})`;
  const line = (cells: readonly string[]) => `| ${cells.map(cellText).join(" | ")} |`;
  const rule = block.head.map((_, i) => (i === 0 || block.words ? "---" : "---:"));
  const lines = [line(block.head), `| ${rule.join(" | ")} |`, ...block.rows.map(line)];
  return `${cellText(block.caption)}\n\n${lines.join("\n")}`;
}
