import { describe, expect, it } from "vitest";
import { Screen, type ScreenOutput } from "../../base/screen.ts";
import { wrapped } from "../../base/wrapped.ts";
import type { ProgressEvent } from "./laps.ts";
import { barLine, TourView } from "./view.ts";

function output(isTTY: boolean, columns = 80): ScreenOutput & { text: string } {
  const write = (text: string) => {
    written.text += text;
  };
  const written = { text: "", isTTY, columns, write };
  return written;
}

const progress: ProgressEvent = {
  ...{ type: "progress", part: "share", run: "found-baseline", about: "" },
  ...{ step: 90, steps: 300, done: 0.3, secondsLeft: 95 },
};

describe("the tour's bar", () => {
  it("shows the step, the share done and the time left within 80 columns", () => {
    const line = barLine(progress);
    expect(line).toBe("  found-baseline  ━━━━━━··············  step 90/300  30 %  1:35 left");
    expect(barLine({ ...progress, step: 12_345, steps: 12_345, secondsLeft: 36_000 }).length).toBeLessThan(80);
  });
});

describe("the tour's screen", () => {
  it("draws in place on a terminal, and wipes before it says something that stays", () => {
    const out = output(true);
    const screen = new Screen(out, { NO_COLOR: "1" });
    screen.draw(["a", "b"], 0);
    screen.draw(["too soon"], 10);
    screen.say("kept");
    expect(out.text).toBe("a\nb\n\x1b[2A\r\x1b[Jkept\n");
  });

  it("leaves lines out that do not fit, and colours where NO_COLOR is set", () => {
    const out = output(true, 44);
    const screen = new Screen(out, { NO_COLOR: "1" });
    screen.draw([screen.paint("short", 1), "x".repeat(44)], 0);
    expect(out.text).toBe("short\n");
  });

  it("writes no control codes where nobody watches", () => {
    const out = output(false);
    const view = new TourView(new Screen(out, {}));
    const choices = [{ names: ["attention", "identity"], probabilities: [0.9, 0.1] }];
    const evaluation = {
      type: "evaluation",
      split: "valid",
      step: 300,
      best: true,
      loss: 4,
      perplexity: 54.6,
      choices,
    } as const;
    view.see({ type: "part", part: "search" });
    view.see({ ...progress, step: 300 });
    view.see({ type: "run", part: "search", run: "search", event: { ...evaluation, pattern: "s" } });
    view.see({ type: "finding", part: "search", sentence: "It chose." });
    expect(out.text).toMatch(
      /attention.*0\.90.*now s.*step 300\/300.*valid loss 4\.000, perplexity 54\.6.*It chose\./s,
    );
    expect(out.text).not.toContain("\x1b");
  });
});

describe("text for the terminal", () => {
  it("is broken between words", () => {
    expect(wrapped("one two three", 10, "  ")).toBe("  one two\n  three");
  });
});
