import { describe, expect, it } from "vitest";
import { fromJSONSchema } from "zod";
import { layerwise } from "../../../test/command.ts";

const schema = (...args: string[]) => layerwise("schema", ...args);

describe("layerwise schema", () => {
  it("prints a JSON Schema that checks a file of settings", () => {
    const json = JSON.parse(schema("search").stdout);
    expect(json.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
    const read = fromJSONSchema(json);
    expect(read.safeParse({ task: "search", steps: 100, latency: { batch: 1, length: 8, memory: 8 } }).success).toBe(
      true,
    );
    expect(read.safeParse({ steps: 100, settel: [0.1, 0.2] }).success).toBe(false);
  });

  it("lists the tasks, or prints all their schemas", () => {
    expect(schema().stdout).toMatch(/^search +\d+ +quick, par-original, par-paper, par-headline, wikitext, front$/m);
    expect(Object.keys(JSON.parse(schema("--json").stdout))).toEqual([
      "language",
      "translate",
      "search",
      "retrain",
      "pretrain",
      "finetune",
    ]);
  });

  it("guesses at misspelt tasks", () => {
    expect(schema("pretain")).toMatchObject({ status: 2, stderr: expect.stringContaining("did you mean pretrain?") });
  });
});
