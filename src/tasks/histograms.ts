/** Histograms of every trained parameter in TensorBoard, written at evaluations. */
import type { RunFolder } from "../runs/folder.ts";
import { judgedWeights } from "../train/judged-weights.ts";
import type { Job, Observer, TaskEvent } from "./job.ts";

/** What a job with a setting `histogramEvery` attaches to its run; nothing where it is not set. */
export function histogramsEvery(every: number | null | undefined): Pick<Job, "attach"> {
  return every ? { attach: async (run) => new WeightHistograms(run, every) } : {};
}

/** Several observers of one run, each told of every event. */
export function observers(...all: readonly (Observer | undefined)[]): Observer {
  const present = all.filter((each) => each !== undefined);
  return {
    see: async (event) => {
      for (const each of present) await each.see(event);
    },
    finish: async () => (await Promise.all(present.map((each) => each.finish()))).flat(),
  };
}

/** Shows the weights of every n-th evaluation of a run, over all of its sessions. */
class WeightHistograms implements Observer {
  readonly #run: RunFolder;
  readonly #every: number;
  #evaluations: number;

  constructor(run: RunFolder, every: number) {
    [this.#run, this.#every] = [run, every];
    this.#evaluations = run.eventLog().events.filter(({ type }) => type === "evaluation").length;
  }

  async see(event: TaskEvent): Promise<void> {
    if (event.type !== "evaluation" || ++this.#evaluations % this.#every !== 0) return;
    const weights = [...(judgedWeights(event) ?? [])];
    const drawings = weights.map(([{ attributes }, histogram]) => ({ tag: `weights/${attributes.name}`, histogram }));
    if (drawings.length > 0) this.#run.show(event.step, drawings);
  }

  async finish(): Promise<readonly string[]> {
    return [];
  }
}
