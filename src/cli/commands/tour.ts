/** `layerwise tour`: share, search and adapt on the embedded books, in about three minutes. */
import { Screen } from "../../base/index.ts";
import type { TourOptions } from "../../tasks/tour/index.ts";
import type { Command } from "../command.ts";
import { freeFolder, whole, wholeFrom } from "../flags.ts";
import { engineOf } from "../opened.ts";
import { commandName, print, terminal } from "../output.ts";
import { seen } from "../session.ts";

const examples = `
Everything is trained and measured while you watch, and kept in the folder: a report with pictures, and runs that other commands
use. Ctrl-C stops after the present step and keeps what is done; the same command with --out goes on.

Examples:
  layerwise tour                     about three minutes on two cores
  layerwise tour --seed 2            other first weights
  layerwise tour --out runs/tour-1   goes on with a tour that was stopped`;

interface Flags extends Pick<TourOptions, "seed" | "steps"> {
  out?: string;
  threads?: number;
  json?: boolean;
}

export function addTour(program: Command): void {
  program
    .command("tour")
    .option("--out <dir>", "folder of runs and report; a tour that was stopped goes on (default: runs/tour-1, -2, …)")
    .option("--seed <n>", "seed of weights, noise and order (default: 1)", wholeFrom(0))
    .option("--steps <n>", "updates of every run, to try the tour out (default: what each needs)", whole)
    .option("--threads <n>", "threads of ONNX Runtime (default: physical cores)", whole)
    .option("--json", "print the result as JSON")
    .explain(examples)
    .action(run);
}

/** Commands to try, one per part and those that show more of what was done. */
function nextCommands(path: string): string[] {
  const name = commandName();
  return [
    `${name} train --unique 2 --depth 6 --share cycle --minutes 5`,
    `${name} search --preset quick`,
    `${name} depth ${path}/adapt --text "The cat sat on the mat."`,
    `${name} studio ${path}`,
    `tensorboard --logdir ${path}`,
  ];
}

async function run({ out: named, json, threads, ...how }: Flags): Promise<void> {
  const out = named ?? (await freeFolder("tour-"));
  const { tour, tourSummary, TourView } = await import("../../tasks/tour/index.ts");
  const screen = new Screen(terminal(), process.env);
  const view = new TourView(screen);
  const next = nextCommands(out);
  screen.say(
    `${screen.paint("A transformer's depth is data.", 1)}\nA tour on the embedded books; every figure is computed while you watch.\n`,
  );
  const engine = await engineOf({ threads });
  const start = (signal: AbortSignal) => tour({ ...how, out, engine, next, signal });
  const result = await seen(start, (event) => view.see(event)).finally(() => screen.wipe());
  if (result.reason === "stopped") process.exitCode = 130;
  const again = `${commandName()} tour --out ${out}`;
  const shown = `${tourSummary(result, [again], new Screen(process.stdout, process.env))}\n\nnext:\n  ${next.join("\n  ")}`;
  print(json ? JSON.stringify(result) : shown);
}
