/** The report of a reproduction: claims first, then the paper's table beside ours, what differs, times and commands. */
import { clock } from "../../base/progress.ts";
import { processor } from "../../tasks/environment.ts";
import type { Block, PaperReport } from "../../tasks/papers/report.ts";
import type { SweepResult } from "../sweep.ts";
import { type Claim, RULE, verdictLine } from "./claims.ts";
import type { Experiment, Outcome, ReproducePreset } from "./course.ts";

/** What a report is about. */
interface Reported<F> extends Outcome<F> {
  readonly paper: string;
  readonly preset: ReproducePreset;
  readonly seeds: number;
  readonly threads: number | null;
  readonly data: string | null;
  readonly path: string;
  readonly claims: readonly Claim[];
}

const endings: Readonly<Record<Exclude<SweepResult["reason"], "finished">, string>> = {
  stopped: "It was stopped: figures that are missing come with the same command.",
  incomplete: "Some trainings failed: the same command tries them again.",
  submitted: "Its trainings were handed over: once they have ended, the same command goes on.",
};

/** The report of what there is so far. */
export function reportOf<F extends object>(experiment: Experiment<F>, reported: Reported<F>): PaperReport {
  const { claims, figures, reason, preset, seeds } = reported;
  const count = seeds === 1 ? "one seed, so without deviations" : `${seeds} seeds`;
  return {
    title: experiment.title,
    source: experiment.source,
    lead: [
      ...(reason === "finished" ? [] : [endings[reason]]),
      `${verdictLine(claims)} Size ${preset}, ${count}, on ${processor()}.`,
    ],
    sections: [
      { title: "What agreed", blocks: claimBlocks(claims) },
      { title: "The paper's table and ours", blocks: experiment.tables(figures) },
      {
        title: "What is different here",
        blocks: differencesOf(experiment, preset).map((text) => ({ type: "text", text }) as const),
      },
      { title: "Times", blocks: [timesTable(reported)] },
      { title: "Commands", blocks: [{ type: "code", lines: commandsOf(reported) }] },
    ],
  };
}

function differencesOf<F extends object>({ differences, tiny }: Experiment<F>, preset: ReproducePreset): string[] {
  const small = `This is the tiny size: ${tiny}. Its figures show that everything runs, and nothing else.`;
  return [...differences(preset), ...(preset === "tiny" ? [small] : [])];
}

function claimBlocks(claims: readonly Claim[]): Block[] {
  const rows = claims.map(({ sentence, paper, ours, verdict }) => [sentence, paper, ours, verdict]);
  const head = ["claim", "paper", "here", "verdict"];
  return [{ type: "table", caption: RULE, head, rows, words: true }];
}

function timesTable<F>({ times }: Reported<F>): Block {
  const line = (name: string, trainings: number, seconds: number) => [name, `${trainings}`, clock(seconds)];
  const total = (key: "trainings" | "seconds") => times.reduce((sum, each) => sum + each[key], 0);
  const rows = times.map(({ part, trainings, seconds }) => line(part, trainings, seconds));
  const head = ["part", "trainings", "time"];
  const caption = "Time spent training, over all sessions; minutes:seconds, or hours:minutes:seconds.";
  return { type: "table", caption, head, rows: [...rows, line("all", total("trainings"), total("seconds"))] };
}

function commandsOf<F>({ paper, preset, seeds, threads, data, path, times }: Reported<F>): string[] {
  const given = [
    ...(data === null ? [] : [`--data ${data}`]),
    ...(threads === null ? [] : [`--threads ${threads}`]),
    ...[`--seeds ${seeds}`, `--out ${path}`],
  ];
  return [
    `layerwise reproduce ${paper} --preset ${preset} ${given.join(" ")}`,
    ...(times.length > 0 ? [`layerwise runs ${path}`] : []),
  ];
}
