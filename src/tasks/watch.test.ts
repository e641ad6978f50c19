import { describe, expect, it } from "vitest";
import { Watch, type WatchOutput } from "./watch.ts";

function watched(isTTY: boolean, columns?: number): { watch: Watch; written: () => string } {
  let text = "";
  const output = { isTTY, columns, write: (part: string) => (text += part) } as unknown as WatchOutput;
  return { watch: new Watch(output, { totalSteps: 10, minutes: null }), written: () => text };
}

const step = {
  type: "step",
  step: 1,
  loss: 2,
  learningRate: 1,
  gradientNorm: 1,
  tokensPerSecond: 100,
  epoch: 0,
} as const;

/** What a terminal shows at last, where lines are drawn in place. */
const lastLine = (text: string) => text.split("\x1b[2K").at(-1)!;

describe("the live line", () => {
  it("has step, bar, share done and time left, and fits the terminal", () => {
    for (const [columns, wanted] of [
      [120, "step 1/10  ━━··················  10 %  loss 2.000  perplexity 7.4  100 tokens/s  0:00 left"],
      [80, "step 1/10  ━━··················  10 %  loss 2.000  100 tokens/s  0:00 left"],
      [50, "step 1/10  loss 2.000  0:00 left"],
      [20, "step 1/10  loss 2.0"],
    ] as const) {
      const { watch, written } = watched(true, columns);
      watch.see(step);
      expect(lastLine(written())).toBe(wanted);
    }
  });

  it("shows how far an evaluation is, and nothing where nobody watches", () => {
    const [seen, unseen] = [watched(true), watched(false)];
    for (const { watch } of [seen, unseen]) watch.see({ type: "evaluating", step: 5, done: 30, count: 40 });
    expect(lastLine(seen.written())).toMatch(/^step 5 {2}evaluating {2}━{15}·{5} {2}75 % {2}0:00 left$/);
    expect(unseen.written()).toBe("");
  });

  it("goes by the clock where minutes are asked for, with those of earlier sessions", () => {
    let text = "";
    const output = { isTTY: true, write: (part: string) => (text += part) } as unknown as WatchOutput;
    new Watch(output, { totalSteps: 10, minutes: 2, elapsedMs: 60_000 }).see(step);
    expect(lastLine(text)).toMatch(/^step 1 {2}━{10}·{10} {2}50 % .* 1:00 left$/);
  });
});

describe("a picture that is watched", () => {
  it("takes the place of the one before on a terminal, the live line between them wiped", () => {
    const { watch, written } = watched(true);
    watch.picture("a\nb");
    watch.see(step);
    watch.picture("c\nd");
    const escapes = written().replaceAll("\x1b", "ESC").replaceAll("\r", "");
    expect(escapes).toMatch(/^a\nb\nESC\[2Kstep 1\/10 .*ESC\[2KESC\[2AESC\[Jc\nd\n$/);
  });

  it("takes as many rows as the terminal breaks it into", () => {
    const { watch, written } = watched(true, 4);
    watch.picture("12345\n1234\n");
    watch.picture("x");
    expect(written()).toBe("12345\n1234\n\n\x1b[4A\x1b[Jx\n");
  });

  it.each([
    ["where something was said since", true, "block 1 loses identity\n"],
    ["elsewhere", false, ""],
  ])("stays %s", (_, isTTY, said) => {
    const { watch, written } = watched(isTTY);
    watch.picture("a");
    if (said) watch.say(said.trim());
    watch.picture("b");
    expect(written()).toBe(`a\n${said}b\n`);
  });
});
