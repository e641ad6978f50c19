import { describe, expect, it } from "vitest";
import { figureText, withScores } from "./scores.ts";

describe("figures of evaluations", () => {
  it("are percent with two decimals where they are shares or correlations, whatever they belong to", () => {
    expect(["accuracy", "mlm_accuracy", "f1", "matthews"].map((name) => figureText(name, 0.82568))).toEqual(
      Array(4).fill("82.57 %"),
    );
    expect(figureText("matthews", -0.05)).toBe("-5.00 %");
    expect(figureText("depth", 2.0661)).toBe("2.066");
    expect(figureText("inaccuracy", 0.5)).toBe("0.5");
  });

  it("are so in rows of tables, beside cells that stay", () => {
    expect(withScores({ split: "dev", loss: 0.41234, accuracy: 0.5, f1: null })).toEqual({
      split: "dev",
      loss: 0.41234,
      accuracy: "50.00 %",
      f1: null,
    });
  });
});
