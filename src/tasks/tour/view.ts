/** What a person sees of the tour: a bar per run that stays, the plan, π as it moves, a sentence coloured by depth. */
import { bar, clock, percentOf } from "../../base/progress.ts";
import type { Screen } from "../../base/screen.ts";
import { wrapped } from "../../base/wrapped.ts";
import { sentenceLines, terminalView } from "../../pictures/depth-view.ts";
import { heatMap } from "../../pictures/heat-map.ts";
import { drawPlan } from "../../pictures/plan-picture.ts";
import type { ProgressEvent, RunEvent, TourEvent } from "./laps.ts";
import type { PartName } from "./recipe.ts";
import type { TourResult } from "./results.ts";

const titles: Readonly<Record<PartName, string>> = {
  share: "1 of 3  share: two layers of weights, six layers deep",
  search: "2 of 3  search: each block chooses attention, feed-forward or identity",
  adapt: "3 of 3  adapt: each token chooses how deep it runs",
};

/** `shared          ━━━━━━━━━━··········  step 80/160  17 %  1:50 left`. */
export function barLine({ run, step, steps, done, secondsLeft }: ProgressEvent): string {
  const left = step === steps && done >= 1 ? "done" : `${clock(secondsLeft)} left`;
  return `  ${run.padEnd(14)}  ${bar(step / steps)}  step ${step}/${steps}  ${percentOf(done)}  ${left}`;
}

const indented = (text: string) => text.split("\n").map((line) => `  ${line}`);

/** Shows the events of a tour. */
export class TourView {
  readonly #screen: Screen;
  #bar: ProgressEvent | undefined;
  #map: readonly string[] = [];

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** Draws an event, or says what of it stays. */
  see(event: TourEvent): void {
    if (event.type === "part") this.#begin(event.part);
    if (event.type === "progress") this.#progress(event);
    if (event.type === "run") this.#run(event);
    if (event.type === "finding") this.#screen.say(`${this.#screen.paint(wrapped(event.sentence, 78, "  "), 1)}\n`);
  }

  #begin(part: PartName): void {
    this.#screen.say(this.#screen.paint(titles[part], 1, 36));
    if (part === "share") this.#screen.say(indented(drawPlan([0, 1, 0, 1, 0, 1])).join("\n"));
  }

  #progress(event: ProgressEvent): void {
    this.#bar = event;
    this.#screen.draw([...this.#map, barLine(event)]);
  }

  /** A run's bar stays with its figure when it has ended; π takes the place of the π before. */
  #run({ event }: RunEvent): void {
    if (event.type === "note" && event.text.startsWith("training a tokenizer")) this.#screen.say(`  ${event.text}`);
    if (event.type === "evaluation" && event.choices) this.#look(event);
    if (event.type !== "evaluation" || event.step !== this.#bar?.steps) return;
    const figure = `  ${barLine(this.#bar).trim()}`;
    for (const line of this.#map) this.#screen.say(line);
    this.#map = [];
    this.#screen.say(
      `${figure}\n  ${" ".repeat(16)}valid loss ${event.loss.toFixed(3)}, perplexity ${event.perplexity!.toFixed(1)}`,
    );
  }

  #look({ choices = [], pattern }: Extract<RunEvent["event"], { type: "evaluation" }>): void {
    const shares = choices.map(({ probabilities }) => probabilities);
    if (shares.every((block) => block.length < 2)) return;
    const { names } = choices.reduce((a, b) => (b.names.length > a.names.length ? b : a));
    this.#map = indented(`${heatMap(shares, names, this.#screen.colours)}\nnow ${pattern}`);
  }
}

/** What the tour came to, where it lies and what to try next. */
export function tourSummary(
  { adapt, report, reason, path }: TourResult,
  next: readonly string[],
  screen: Screen,
): string {
  const sentence = adapt
    ? sentenceLines(adapt.sentence, screen.width - 4).map(
        (line) => `  ${terminalView(line, adapt.cap, screen.colours)}`,
      )
    : [];
  const ending = reason === "finished" ? [] : [`stopped; go on with: ${next[0]}`];
  return [...sentence, ...(adapt ? [""] : []), ...ending, `report: ${report}`, `runs:   ${path}`].join("\n");
}
