/** The tour's report: one page without anything outside it, for light and dark screens and for readers of screens. */
import { formatNumber } from "../../base/table.ts";
import { barsSvg } from "../../pictures/bars.ts";
import { svgView } from "../../pictures/depth-view.ts";
import { figureHtml, pageHtml, tableHtml } from "../../pictures/page.ts";
import { planSvg } from "../../pictures/plan-picture.ts";
import { searchSvg } from "../../pictures/search-picture.ts";
import { escaped } from "../../pictures/svg.ts";
import { processor } from "../environment.ts";
import { type PartName, partNames } from "./recipe.ts";
import type { AdaptResult, SearchedResult, SharedModel, ShareResult, TourResult } from "./results.ts";

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
  return pageHtml(
    "layerwise: a tour",
    `<h1>A transformer's depth is data</h1>
<p class="soft">Trained on the embedded books just now, every figure on this page included: ${time}.</p>
${stopped}${partNames.map((name) => section(name, result)).join("\n")}
${nextSection(next)}`,
  );
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
  return figureHtml(...plans) + tableHtml(caption, head, [row("shared", shared), row("unshared", unshared)]);
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
  return figureHtml(searchSvg(moments, candidates, pattern)) + tableHtml(caption, head, rows);
}

function adaptBody({ sentence, cap, kinds, counts, perplexity }: AdaptResult): string {
  const bars = kinds.map(({ name, mean, tokens }) => {
    return { name, value: mean, text: `${mean.toFixed(2)} (${formatNumber(tokens)} tokens)` };
  });
  const total = counts.reduce((a, b) => a + b, 0);
  const rows = counts.map((count, i) => [i + 1, `${((100 * count) / total).toFixed(1)} %`]);
  return (
    figureHtml(svgView(sentence, cap, "A sentence of the test text; the deeper a token ran, the stronger its colour")) +
    figureHtml(barsSvg(bars, "Mean passes by kind of token, on valid text", cap)) +
    tableHtml(`Where tokens stopped; valid perplexity ${perplexity.toFixed(1)}.`, ["passes", "tokens"], rows)
  );
}

function nextSection(next: readonly string[]): string {
  if (next.length === 0) return "";
  return `<section aria-labelledby="next"><h2 id="next">Next</h2>\n<pre>${escaped(next.join("\n"))}</pre></section>`;
}
