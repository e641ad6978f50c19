/** Opens a run to use it: its model and tokenizer, and the weights of one of its checkpoints. */
import { type Command, InvalidArgumentError } from "commander";
import type { CheckpointChoice } from "../runs/folder.ts";
import type { TrainState } from "../train/events.ts";
import type { ParameterTensor } from "../train/memory.ts";
import type { Workshop } from "./training.ts";

export interface OpenRun extends Workshop {
  readonly state: TrainState;
  readonly step: number;
  readonly weights: ReadonlyMap<ParameterTensor, Float32Array>;
}

/** `--checkpoint last|best|STEP`, for every command that uses a run. */
export function addCheckpointFlag(command: Command): Command {
  return command.option(
    "--checkpoint <which>",
    "last, best, or a step (default: best where there is one, else last)",
    checkpointChoice,
  );
}

function checkpointChoice(text: string): CheckpointChoice {
  if (text === "last" || text === "best") return text;
  const step = Number(text);
  if (!Number.isSafeInteger(step) || step < 0) throw new InvalidArgumentError("It must be last, best or a step.");
  return step;
}

const say = (text: string) => void process.stderr.write(`${text}\n`);

export async function openRun(path: string, choice?: CheckpointChoice): Promise<OpenRun> {
  const { RunFolder } = await import("../runs/folder.ts");
  const { parseConfig, resolveConfig } = await import("./config.ts");
  const { openWorkshop } = await import("./training.ts");
  const { firstWeights } = await import("./session.ts");
  const run = await RunFolder.read(path);
  const source = `${path}/config.yaml`;
  const config = resolveConfig([{ source, values: parseConfig(run.config, source) }]);
  const hasBest = (await run.checkpoints()).some(({ best }) => best);
  const { state, step, warnings } = await run.readCheckpoint(choice ?? (hasBest ? "best" : "last"));
  warnings.forEach(say);
  const workshop = await openWorkshop(config, say, path);
  return { ...workshop, state, step, weights: firstWeights(workshop.model.parameters, config.seed, state.weights) };
}
