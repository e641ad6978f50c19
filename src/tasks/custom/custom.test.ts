import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { graph, nn, Run, type Trainable, train } from "../../index.ts";

const folder = ownFolder("custom");

/** A line through points: y = w·x + b, with the squared error. */
function line(): Trainable {
  const w = nn.newParameter("w", [1, 1], nn.zeros);
  const b = nn.newParameter("b", [1], nn.zeros);
  const [x, y] = [graph.input("x", [8, 1]), graph.input("y", [8, 1])];
  const guess = graph.add(graph.matmul(x, w.tensor), b.tensor);
  return {
    parameters: [w, b],
    objective: () => ({ loss: graph.mean(graph.square(graph.subtract(guess, y))), inputs: { x, y } }),
  };
}

const data = {
  count: 5,
  rows: 8,
  at: (i: number) => {
    const x = Float32Array.from({ length: 8 }, (_, k) => ((i * 8 + k) % 7) / 7);
    return { x, y: x.map((each) => 3 * each - 1) };
  },
};
const settings = { data: { train: data, valid: data }, steps: 60, rate: 0.1, warmup: 5, checkpointEvery: 20 };

describe("a model of one's own", () => {
  it("trains on named arrays without an engine being named", async () => {
    const { evaluation, reason } = await train(line(), settings).result;
    expect(reason).toBe("finished");
    expect(evaluation!.loss).toBeLessThan(0.1);
    expect(evaluation!.perplexity).toBeUndefined(); // it is no text
  });

  it("is stopped, and goes on from its folder to the same bits", async () => {
    const whole = await train(line(), settings).result;
    const path = join(folder, "run");
    const session = train(line(), { ...settings, into: await Run.create(path) });
    for await (const event of session) if (event.type === "step" && event.step === 33) break;
    expect((await session.result).reason).toBe("stopped");
    const run = await Run.open(path, "custom", { checkpoint: "last" });
    expect(run.step).toBe(33);
    const again = await run.resume(line(), settings).result;
    const bits = ({ weights }: typeof whole) => [...weights.values()].map((data) => [...data]);
    expect(bits(again)).toEqual(bits(whole));
    expect((await run.summary()).status).toBe("finished");
  });

  it("leaves no folder when it cannot begin, and says what a stranger lacks", async () => {
    const path = join(folder, "absent");
    const into = await Run.create(path);
    expect(() => train(line(), { ...settings, steps: -1, into })).toThrow("steps -1");
    expect(existsSync(join(path, "config.yaml"))).toBe(false);
    await expect(Run.resume(join(folder, "run")).result).rejects.toThrow("expected the model and data of the run");
    await expect(Run.open(join(folder, "run"), "language")).rejects.toThrow(
      "expected a run of kind language, got custom",
    );
  });
});
