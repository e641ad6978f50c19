/** Which checkpoint of a run a command uses. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { DepthUse, ExitRule } from "../depth/index.ts";
import type { CheckpointChoice } from "../runs/index.ts";
import { parseExitRule } from "../tasks/settings/index.ts";
import { numberFrom, wholeFrom } from "./flags.ts";

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

/** `--int8`, for commands that only use a model. */
export const int8Option = (): Option =>
  new Option("--int8", "multiply by weights in 8-bit integers: faster, and nearly as exact");

/** `--split`, of the corpus that a run is used on. */
export const splitOption = (): Option =>
  new Option("--split <split>", "which part of the corpus").choices(["train", "valid", "test"]).default("valid");

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

/** Which checkpoint, and what is changed of its depth. */
export interface UseFlags extends DepthUse {
  checkpoint?: CheckpointChoice | undefined;
  threads?: number | undefined;
  int8?: boolean | undefined;
}

/** The flags that are not about which checkpoint is used and how deep. */
export function besidesUse<T extends UseFlags>(flags: T): Omit<T, keyof UseFlags> {
  const { checkpoint, threads, int8, loops, cap, threshold, exit, keys, ...others } = flags;
  return others;
}

/** What a language model's depth may be told when it is used. */
export function addDepthFlags(command: Command): Command {
  return command
    .option("--loops <n>", "run looped blocks so often, also more often than in training", wholeFrom(1))
    .option("--cap <n>", "deepest depth of models that halt, route or drop layers", wholeFrom(1))
    .option("--threshold <x>", "score above which a routed token goes on", numberFrom(0, 1))
    .option(
      "--exit <rule>",
      "where tokens leave a model with exits: last, weighted, quantile:0.5, difference:0.1 …",
      exitRule,
    )
    .addOption(
      new Option(
        "--keys <which>",
        "what tokens that stopped show to the others; tokens that leave at an exit then stop, which saves their time",
      ).choices(["own", "first", "last"]),
    );
}

function exitRule(text: string): ExitRule {
  const rule = parseExitRule(text);
  if (rule) return rule;
  throw new InvalidArgumentError("It must be a rule, such as last, or with a level, such as difference:0.1.");
}
