import { describe, expect, it } from "vitest";
import { heading, legend, onBackground, svgDocument, svgText, textWidth, wrapped } from "./svg.ts";

describe("text", () => {
  it("is measured by its letters", () => {
    expect(textWidth("WWW")).toBeGreaterThan(2 * textWidth("iii"));
    expect(textWidth("abc", { size: 24 })).toBeCloseTo(2 * textWidth("abc", { size: 12 }), 10);
    expect(textWidth("漢字")).toBeGreaterThan(textWidth("ab"));
  });

  it("is wrapped between words and never loses one", () => {
    const text = "a title that is longer than the picture is wide";
    const lines = wrapped(text, 100);
    expect(lines.join(" ")).toBe(text);
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(100);
    expect(wrapped("unbreakable", 5)).toEqual(["unbreakable"]);
  });

  it("on a paint has the ink that can be read there, on light paper and on dark", () => {
    const inkOn = (colour: string, opacity: number) =>
      /class="lw-(..)"/.exec(svgText(0, 0, "x", { on: { colour, opacity } }))![1];
    expect(inkOn("#3b76c4", 1)).toBe("ww"); // blue
    expect(inkOn("#e08a1e", 1)).toBe("kk"); // orange
    expect(inkOn("#e08a1e", 0.1)).toBe("kw"); // mostly paper
  });
});

describe("a heading and a legend", () => {
  it("take as many lines as they need", () => {
    expect(heading("short", 0, 900).height).toBeLessThan(heading("long ".repeat(60), 0, 900).height);
    const entries = Array.from({ length: 9 }, (_, i) => ({ name: `candidate ${i}`, colour: "#000000" }));
    const { elements, height } = legend(entries, 10, 50, 300);
    const right = elements.flatMap((each) => /<text x="([\d.]+)"/.exec(each)?.slice(1).map(Number) ?? []);
    for (const x of right) expect(x + textWidth("candidate 0")).toBeLessThanOrEqual(310);
    expect(height).toBeGreaterThan(60);
    expect(legend([], 0, 0, 10)).toEqual({ elements: [], height: 0 });
  });
});

describe("a document", () => {
  const svg = svgDocument(10, 20, { title: "a < b", description: 'says "so"' }, []);

  it("says what it shows", () => {
    expect(svg).toContain('aria-label="a &lt; b"');
    expect(svg).toContain("<title>a &lt; b</title>\n<desc>says &quot;so&quot;</desc>");
  });

  it("follows what the reader prefers, unless it is made for one background", () => {
    expect(svg).toContain("@media(prefers-color-scheme:dark){svg{color:#e6edf3}");
    expect(onBackground(svg, "light")).not.toMatch(/@media|#e6edf3/);
    expect(onBackground(svg, "dark")).toMatch(/svg\{color:#1f2328\}.*svg\{color:#e6edf3\}/);
    expect(onBackground(svg, "dark")).not.toContain("@media");
  });
});
