import { describe, expect, it } from "vitest";
import { classification, exampleOf, regression } from "./text-task.ts";

describe("a task on labelled texts", () => {
  const task = classification({ labels: ["bad", "good"] });

  it("turns labels into places among the classes, and keeps numbers", () => {
    expect(exampleOf({ text: "a", label: "good" }, task, 0)).toEqual({ texts: ["a"], label: 1 });
    expect(exampleOf({ text: "a", pair: "b", label: 2.5 }, regression(), 0)).toEqual({ texts: ["a", "b"], label: 2.5 });
  });

  it("refuses labels that it does not have, by the example's place", () => {
    const who = "classification: example 7";
    expect(() => exampleOf({ text: "a", label: "fine" }, task, 7)).toThrow(
      `${who}: expected a label of bad, good, got "fine"`,
    );
    expect(() => exampleOf({ text: "a", label: "2" }, regression(), 7)).toThrow("expected a number as label");
  });

  it("refuses classes that are not told apart, and metrics that do not exist", () => {
    expect(() => classification({ labels: ["a", "a"] })).toThrow("two or more labels, all different, got a, a");
    expect(() => regression({ metrics: ["bleu" as never] })).toThrow("got bleu");
  });
});
