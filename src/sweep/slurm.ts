/** The launcher on Slurm: writes a job array over the sweep's trials and submits it; trials that Slurm stops are put back into its queue. */
import { spawnSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { reject } from "../base/errors.ts";
import { writeAtomically } from "../files/atomic.ts";
import type { Launcher } from "./launcher.ts";
import { ownCommand, shellWord } from "./own-command.ts";

/** What Slurm is told besides the trials. */
export interface SlurmOptions {
  /** Trials at a time. Default: as many as Slurm will. */
  readonly parallel?: number | undefined;
  /** Options of sbatch. */
  readonly sbatch?: string | undefined;
}

const SCRIPT = "slurm.sh";

/** Seconds before the end of a job's time at which it is told to save. */
const NOTICE_S = 120;

/** Writes slurm.sh into the sweep's folder, and submits it where there is sbatch. */
export function slurmLauncher(options: SlurmOptions = {}): Launcher {
  return {
    handsOver: true,
    below: async () => ({}),
    async launch({ path }, waiting, tell) {
      const file = join(path, SCRIPT);
      await mkdir(join(path, "slurm"), { recursive: true }); // its output
      const indices = waiting.map(({ index }) => index);
      await writeAtomically(file, slurmScript(resolve(path), indices, options));
      tell({ type: "note", text: submitted(file) });
    },
  };
}

/** The script: one task of the array per trial. A trial that was stopped in time ends with 75, and goes back to the queue. */
export function slurmScript(path: string, indices: readonly number[], { parallel, sbatch = "" }: SlurmOptions): string {
  const most = parallel === undefined ? "" : `%${parallel}`;
  const own = sbatch.split(/\s+(?=-)/).filter(Boolean);
  const options = [
    `--job-name=${basename(path).replace(/[^\w.-]/g, "-")}`,
    `--array=${ranges(indices)}${most}`,
    "--requeue",
    "--open-mode=append",
    `--output=${path.replaceAll("%", "%%")}/slurm/%a.log`,
    `--signal=B:USR1@${NOTICE_S}`,
    ...own,
  ];
  return `#!/bin/bash
${options.map((each) => `#SBATCH ${each}`).join("\n")}
# Written by layerwise sweep: a task per trial. A trial that is told to stop (time is up, pre-emption) saves a checkpoint and ends with
# code 75; the task then goes back to the queue, and the trial goes on from there.
cd ${shellWord(process.cwd())}
${ownCommand()} trial ${shellWord(path)} "$SLURM_ARRAY_TASK_ID" &
trial=$!
trap 'kill -USR1 "$trial" 2>/dev/null' USR1 TERM
while wait "$trial"; code=$?; [ "$code" -gt 128 ]; do signal=$code; done # a trapped signal ends a wait, not the trial
if [ "$code" = 127 ]; then code=\${signal:-127}; fi # the signal was the trial's own end
if [ "$code" = 75 ]; then scontrol requeue "\${SLURM_ARRAY_JOB_ID}_\${SLURM_ARRAY_TASK_ID}"; fi
exit "$code"
`;
}

/** 0, 1, 2, 5 → `0-2,5`. */
function ranges(indices: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const index of indices) {
    const last = runs.at(-1);
    if (last && last[1] === index - 1) last[1] = index;
    else runs.push([index, index]);
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(",");
}

function submitted(file: string): string {
  const { error, status, stdout, stderr } = spawnSync("sbatch", ["--parsable", file], { encoding: "utf8" });
  if (error && (error as NodeJS.ErrnoException).code === "ENOENT")
    return `written: ${file}; there is no sbatch here: on the cluster, submit it with: sbatch ${file}`;
  if (error || status !== 0)
    reject({ who: "sbatch", needed: "a job array that Slurm takes", got: (error?.message ?? stderr).trim() });
  return `submitted as Slurm job ${stdout.trim()} (${file}); follow it with: layerwise sweep show ${resolve(file, "..")}`;
}
