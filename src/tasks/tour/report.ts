/** The tour's report: one page without anything outside it, for light and dark screens and for readers of screens. */
import { formatNumber } from "../../base/table.ts";
import { barsSvg } from "../../pictures/bars.ts";
import { svgView } from "../../pictures/depth-view.ts";
import { planSvg } from "../../pictures/plan-picture.ts";
import { searchSvg } from "../../pictures/search-picture.ts";
import { escaped } from "../../pictures/svg.ts";
import { processor } from "../environment.ts";
import { type PartName, partNames } from "./recipe.ts";
import type { AdaptResult, SearchedResult, SharedModel, ShareResult, TourResult } from "./results.ts";

const STYLE = `
:root{color-scheme:light dark;--ink:#1f2328;--paper:#fff;--soft:#59636e;--line:#d1d9e0;--panel:#f6f8fa}
@media(prefers-color-scheme:dark){:root{--ink:#d1d7e0;--paper:#0d1117;--soft:#9198a1;--line:#3d444d;--panel:#151b23}}
body{font:17px/1.6 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:2rem auto;max-width:1000px;padding:0 1rem}
h1{font-size:2rem;margin-bottom:0}h2{font-size:1.4rem;margin:2.5rem 0 .3rem;border-top:1px solid var(--line);padding-top:1.5rem}
.soft,caption{color:var(--soft)}.finding{font-size:1.15rem}
figure{margin:1rem 0;display:flex;flex-wrap:wrap;gap:1.5rem}svg{max-width:100%;height:auto}
table{border-collapse:collapse;margin:1rem 0}caption{text-align:left;font-size:.9rem;white-space:nowrap}
th,td{padding:.25rem .9rem .25rem 0;text-align:right;border-bottom:1px solid var(--line)}th:first-child{text-align:left}
pre{background:var(--panel);padding:1rem;border-radius:6px;overflow-x:auto;font-size:.9rem}`;

const about: Readonly<Record<PartName, { title: string; text: string }>> = {
  share: {
    title: "Share: fewer weights, as many layers",
    text: "Both models run six layers. One owns the weights of two of them, and runs those in a cycle.",
  },
  search: {
    title: "Search: each block chooses what it is",
    text: "A supernet mixes attention, feed-forward and identity in every block. π says how much of each; as the temperature τ falls, blocks decide.",
  },
  adapt: {
    title: "Adapt: each token chooses its depth",
    text: "One layer runs up to six times. Every token stops when it has added up enough halting probability, and each pass costs a penalty.",
  },
};

/** The page. `next` holds commands to try. */
export function reportHtml(result: TourResult, next: readonly string[]): string {
  const { seed, elapsedMs, reason } = result;
  const time = `seed ${seed}, ${formatNumber(elapsedMs / 1000, 0)} s on ${escaped(processor())}`;
  const stopped =
    reason === "stopped" ? `<p>Not all parts have ended; <code>${escaped(result.path)}</code> goes on.</p>` : "";
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>layerwise: a tour</title><style>${STYLE}</style></head>
<body><main>
<h1>A transformer's depth is data</h1>
<p class="soft">Trained on the embedded books just now, every figure on this page included: ${time}.</p>
${stopped}${partNames.map((name) => section(name, result)).join("\n")}
${nextSection(next)}
</main></body>
</html>
`;
}

function section(name: PartName, result: TourResult): string {
  const { title, text } = about[name];
  const finding = result.findings[name];
  const body =
    finding === undefined
      ? "<p>This part was not finished.</p>"
      : `<p class="finding">${escaped(finding)}</p>\n${drawn(name, result)}`;
  return `<section aria-labelledby="${name}"><h2 id="${name}">${title}</h2>\n<p class="soft">${text}</p>\n${body}</section>`;
}

function drawn(name: PartName, { share, search, adapt }: TourResult): string {
  if (name === "share") return shareBody(share!);
  return name === "search" ? searchBody(search!) : adaptBody(adapt!);
}

const million = (value: number) => `${formatNumber(value / 1e6, 2)} M`;
const figure = (...pictures: readonly string[]) => `<figure>${pictures.join("")}</figure>`;

type Cells = readonly (string | number)[];

function tableHtml(caption: string, head: readonly string[], rows: readonly Cells[]): string {
  const heads = head.map((text) => `<th scope="col">${escaped(text)}</th>`).join("");
  const lines = rows.map(([first, ...rest]) => {
    const cells = rest.map((cell) => `<td>${escaped(String(cell))}</td>`).join("");
    return `<tr><th scope="row">${escaped(String(first))}</th>${cells}</tr>`;
  });
  return `<table><caption>${escaped(caption)}</caption><thead><tr>${heads}</tr></thead><tbody>${lines.join("")}</tbody></table>`;
}

function shareBody({ shared, unshared }: ShareResult): string {
  const row = (name: string, { parameters, plan, flopsPerToken, loss, perplexity }: SharedModel) => {
    return [name, million(parameters), plan.length, million(flopsPerToken), loss.toFixed(3), perplexity.toFixed(1)];
  };
  const plans = [
    planSvg(shared.plan, "two layers of weights, six deep"),
    planSvg(unshared.plan, "six layers of weights"),
  ];
  const head = ["model", "distinct parameters", "executed depth", "FLOPs per token", "valid loss", "perplexity"];
  const caption = "Sharing saves memory and file size; the work per token is the same.";
  return figure(...plans) + tableHtml(caption, head, [row("shared", shared), row("unshared", unshared)]);
}

function searchBody({ moments, candidates, pattern, found, baseline }: SearchedResult): string {
  const rows = [found, baseline].map((each) => [
    each.name,
    each.pattern,
    million(each.parameters),
    each.executedDepth,
    million(each.flopsPerToken),
    `${each.latencyMs.toFixed(2)} ms`,
    each.perplexity.toFixed(1),
  ]);
  const head = [
    "network",
    "pattern",
    "distinct parameters",
    "executed depth",
    "FLOPs per token",
    "latency",
    "perplexity",
  ];
  const caption =
    "Both trained from scratch for as many updates. In a pattern s is attention, f feed-forward, i identity.";
  return figure(searchSvg(moments, candidates, pattern)) + tableHtml(caption, head, rows);
}

function adaptBody({ sentence, cap, kinds, counts, perplexity }: AdaptResult): string {
  const bars = kinds.map(({ name, mean, tokens }) => {
    return { name, value: mean, text: `${mean.toFixed(2)} (${formatNumber(tokens)} tokens)` };
  });
  const total = counts.reduce((a, b) => a + b, 0);
  const rows = counts.map((count, i) => [i + 1, `${((100 * count) / total).toFixed(1)} %`]);
  return (
    figure(svgView(sentence, cap, "A sentence of the test text; the deeper a token ran, the stronger its colour")) +
    figure(barsSvg(bars, "Mean passes by kind of token, on valid text", cap)) +
    tableHtml(`Where tokens stopped; valid perplexity ${perplexity.toFixed(1)}.`, ["passes", "tokens"], rows)
  );
}

function nextSection(next: readonly string[]): string {
  if (next.length === 0) return "";
  return `<section aria-labelledby="next"><h2 id="next">Next</h2>\n<pre>${escaped(next.join("\n"))}</pre></section>`;
}
