/** The kinds of runs by the task in their config.yaml: another costs one file and one line. */
import { parse } from "yaml";
import { messageOf, reject, UserError } from "../base/errors.ts";
import type { CheckpointChoice } from "../runs/folder.ts";
import type { FinishedRun, RunKind } from "./kind.ts";

export const kinds: Readonly<Record<string, () => Promise<RunKind>>> = {
  albert: async () => (await import("./pretrain/uses.ts")).albertRuns,
};

/** The kind of a run whose config.yaml has this text; a config without a task is a language model's. */
async function kindOf(yaml: string, source: string): Promise<RunKind> {
  const task = taskOf(yaml, source);
  const kind = kinds[task];
  if (kind) return kind();
  const needed = `a task of ${Object.keys(kinds).join(", ")}`;
  return reject({ who: source, needed, got: task, remedy: "use the version of layerwise that made the run" });
}

function taskOf(yaml: string, source: string): string {
  try {
    const { task = "language" } = (parse(yaml) ?? {}) as { task?: unknown };
    return String(task);
  } catch (error) {
    throw new UserError(`${source}: not YAML: ${messageOf(error)}`, 2);
  }
}

const configOf = (path: string) => `${path}/config.yaml`;
const say = (text: string) => void process.stderr.write(`${text}\n`);

/** Opens a run to use it, whatever its task: by default at its best checkpoint, or the last where none is best. */
export async function openRun(path: string, choice?: CheckpointChoice): Promise<FinishedRun> {
  const { RunFolder } = await import("../runs/folder.ts");
  const run = await RunFolder.read(path);
  const kind = await kindOf(run.config, configOf(path));
  const hasBest = (await run.checkpoints()).some(({ best }) => best);
  const stored = await run.readCheckpoint(choice ?? (hasBest ? "best" : "last"));
  stored.warnings.forEach(say);
  return kind.open({ path, config: run.config, environment: run.environment, ...stored });
}

/** Goes on with a run from the last checkpoint, whatever the task. */
export async function resumeRun(path: string): Promise<void> {
  const { RunFolder } = await import("../runs/folder.ts");
  const { config } = await RunFolder.read(path);
  await (await kindOf(config, configOf(path))).resume(path);
}
