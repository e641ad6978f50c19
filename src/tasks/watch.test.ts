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

describe("a picture that is watched", () => {
  it("takes the place of the one before on a terminal, the live line between them wiped", () => {
    const { watch, written } = watched(true);
    watch.picture("a\nb");
    watch.see(step);
    watch.picture("c\nd");
    const escapes = written().replaceAll("\x1b", "ESC").replaceAll("\r", "");
    expect(escapes).toMatch(/^a\nb\nESC\[2Kstep 1 .*ESC\[2KESC\[2AESC\[Jc\nd\n$/);
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
