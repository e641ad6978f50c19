/** "Save as one HTML file": the page's own script and style, and the answers that the view was made of, in one file. */
import { connection } from "./live.ts";
import { recorded, type Saved } from "./server.ts";

const POLICY =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: 'self'; base-uri 'none'; form-action 'none'";

/** The view as a file that opens from disk. */
export async function pageAsFile(hash: string, title: string): Promise<string> {
  const [script, style] = await Promise.all(["page.js", "style.css"].map(textOf));
  const data: Saved = { hash, date: new Date().toISOString(), answers: recorded() };
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">`,
    `<meta name="color-scheme" content="light dark"><meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
    `<title>${escaped(title)}</title><style>${style}</style></head><body><div id="app"></div>`,
    // `<` cannot end a script early, nor can a comment begin in one.
    `<script type="application/json" id="saved">${JSON.stringify(data).replaceAll("<", "\\u003c")}</script>`,
    `<script type="module">${script!.replace(/<(?=\/script|!--)/gi, "\\x3c")}</script></body></html>`,
  ].join("\n");
}

async function textOf(name: string): Promise<string> {
  const response = await fetch(new URL(name, document.baseURI));
  return response.text();
}

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** Hands the file to the browser's downloads. */
export async function savePage(hash: string, title: string): Promise<void> {
  if (connection.peek() === "saved") return;
  const blob = new Blob([await pageAsFile(hash, title)], { type: "text/html" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${title.replace(/[^\w.-]+/g, "-")}.html`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
