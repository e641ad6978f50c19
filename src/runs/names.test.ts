import { describe, expect, it } from "vitest";
import { whole } from "./fields.ts";
import { defineSettings } from "./settings.ts";
import { parseSettings, storedSettings } from "./settings-file.ts";

const schema = defineSettings("language", {
  feedForward: whole(8, "width"),
  rate: whole(1, "rate"),
  evaluateTokens: whole(9, "tokens", 0),
  evaluationBatch: whole(9, "rows", 0),
});

describe("the former name of a setting", () => {
  it("still works in files, in old runs and in programs", () => {
    expect(parseSettings(schema, "hidden: 4\n", "f")).toEqual({ feedForward: 4 });
    const stored = storedSettings(schema, "task: language\nhidden: 4\nrate: 2\n", "f");
    expect(stored).toEqual({ feedForward: 4, rate: 2, evaluateTokens: 0, evaluationBatch: 0 });
    expect(schema.check({ hidden: 4 }, "options")).toEqual({ feedForward: 4 });
  });

  it("is refused beside the name", () => {
    expect(() => schema.check({ hidden: 4, feedForward: 5 }, "f")).toThrow(
      "f: expected feedForward, got feedForward and hidden, its former name; leave hidden out",
    );
  });

  it("is one in the message of what does not fit", () => {
    expect(() => schema.check({ hidden: 0 }, "f")).toThrow("f / feedForward: expected a whole number from 1, got 0");
  });
});

describe("a setting's name in other tools", () => {
  it.each(["lr", "learning_rate", "learningRate"])("%s is refused with its name here", (key) => {
    expect(() => schema.check({ [key]: 1 }, "f")).toThrow(`f: expected a known key, got ${key}; did you mean rate?`);
  });
});
