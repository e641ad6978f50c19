import { describe, expect, it } from "vitest";
import { Command, fitted } from "./command.ts";

const shown = (text: string, helpWidth = 40) => {
  const command = new Command("c").configureHelp({ helpWidth });
  return fitted(text)({ command, error: false });
};

describe("text after a command's options", () => {
  it("is wrapped where it is prose, and left alone where it fits", () => {
    const prose = "A sentence that is rather long,\nand goes on in the next line.";
    expect(shown(`Examples:\n  c run\n\n${prose}`)).toBe(
      "Examples:\n  c run\n\nA sentence that is rather long, and goes\non in the next line.",
    );
  });

  it("puts a remark above a command where both do not fit, and breaks commands before flags", () => {
    expect(shown("  c train --depth 6    six layers deep, and more")).toBe(
      "  # six layers deep, and more\n  c train --depth 6",
    );
    expect(shown("  c train --depth 6 --unique 2 --share cycle")).toBe(
      "  c train --depth 6 --unique 2 \\\n    --share cycle",
    );
  });
});
