/** Which checkpoint of a run a command uses. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { CheckpointChoice } from "../runs/index.ts";
import { wholeFrom } from "./flags.ts";

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

/** What models with memory or with a choice of blocks may be told when they are used. */
export function addSegmentFlags(command: Command): Command {
  return command
    .option(
      "--evaluation-memory <n>",
      "steps of memory, where the model has one (default: as the run evaluates)",
      wholeFrom(0),
    )
    .addOption(
      new Option(
        "--mixture <how>",
        "how blocks that a search has not decided are mixed: by π, or the likeliest alone",
      ).choices(["mean", "arg-max"]),
    );
}
