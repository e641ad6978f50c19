import { describe, expect, it } from "vitest";
import type { TextTask } from "../text/index.ts";
import { trainingDoubts } from "./doubts.ts";

const measured = (scalars: Record<string, number>, tokens = 872) => ({ loss: 1, tokens, scalars });
const binary: TextTask = { name: "SST-2", labels: ["0", "1"], metrics: ["accuracy"] };

describe("doubts about a training", () => {
  it("are none where it was long and is better than chance", () => {
    expect(trainingDoubts({ steps: 200, evaluation: { loss: 4, perplexity: 60 } })).toEqual([]);
    expect(trainingDoubts({ steps: 900, evaluation: measured({ mlm_accuracy: 0.3, sop_accuracy: 0.8 }) })).toEqual([]);
    expect(trainingDoubts({ steps: 20, task: binary, evaluation: measured({ accuracy: 0.6 }) })).toEqual([]);
  });

  it("are said of few updates", () => {
    expect(trainingDoubts({ steps: 60, evaluation: { loss: 5 } })).toEqual([
      "too few updates to tell how good the model is: 60",
    ]);
  });

  it("are said of masked words and sentence order at chance", () => {
    const doubts = trainingDoubts({ steps: 900, evaluation: measured({ mlm_accuracy: 0.05, sop_accuracy: 0.505 }) });
    expect(doubts).toEqual([
      expect.stringMatching(/^no finding: masked words at 5.00 %/),
      expect.stringMatching(/^no finding: sentence order at 50.50 %/),
    ]);
  });

  it("are said of accuracy within two standard errors of guessing, which more texts make smaller", () => {
    const of = (accuracy: number, texts: number) =>
      trainingDoubts({ steps: 20, task: binary, evaluation: measured({ accuracy }, texts) });
    expect(of(0.52, 872)).toEqual([
      "no finding: accuracy 52.00 % is within chance of what guessing gives, 50.00 % (2 classes, 872 texts)",
    ]);
    expect(of(0.52, 40_000)).toEqual([]);
    const epochs = [{ figures: { accuracy: 0.7 } }, { figures: { accuracy: 0.5 } }];
    expect(trainingDoubts({ steps: 20, task: binary, epochs, evaluation: measured({ accuracy: 0.5 }) })).toEqual([]);
  });

  it("are said of correlations near 0", () => {
    const cola: TextTask = { name: "CoLA", labels: ["0", "1"], metrics: ["matthews", "accuracy"] };
    const evaluation = measured({ matthews: 0, accuracy: 0.69 });
    expect(trainingDoubts({ steps: 20, task: cola, evaluation })).toEqual([
      "no finding: matthews 0.00 % is what guessing gives (0 %)",
    ]);
  });
});
