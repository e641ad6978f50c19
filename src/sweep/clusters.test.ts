import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { ownFolder } from "../../test/command.ts";
import { summarise, weightsHash } from "../runs/summary.ts";
import { launcherNamed } from "./launchers.ts";
import { slurmScript } from "./slurm.ts";
import { sweep } from "./sweep.ts";
import type { SweepSpec } from "./sweep-plan.ts";

const folder = ownFolder("clusters");
const spec: SweepSpec = {
  task: "language",
  preset: "tiny",
  settings: { steps: 300, evaluateEvery: 300, checkpointEvery: 10, threads: 1, width: 16 },
  vary: { rate: [0.001, 0.01] },
};

/** Puts programs of these names before those of the machine: each writes what it was given to a file, and prints. */
function standIns(names: Record<string, string>): string {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  for (const [name, prints] of Object.entries(names)) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho "$@" >> "${join(folder, name)}.said"\necho "${prints}"\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return `${bin}${delimiter}${process.env.PATH}`;
}

describe("a sweep on Slurm", () => {
  const into = join(folder, "slurm sweep");

  it("is a job array over the trials that have not ended, submitted where there is sbatch", async () => {
    const before = process.env.PATH;
    process.env.PATH = standIns({ sbatch: "4711", scontrol: "" });
    const session = sweep({
      ...spec,
      into,
      on: launcherNamed("slurm:1", { sbatch: "--time=4:00:00 --partition=cpu" }),
    });
    const notes: string[] = [];
    for await (const event of session) if (event.type === "note") notes.push(event.text);
    process.env.PATH = before;
    expect([(await session.result).reason, notes]).toEqual(["submitted", [expect.stringContaining("Slurm job 4711")]]);
    expect(readFileSync(join(folder, "sbatch.said"), "utf8")).toContain(join(into, "slurm.sh"));
    const script = readFileSync(join(into, "slurm.sh"), "utf8");
    for (const line of ["--array=0-1%1", "--requeue", "--signal=B:USR1@120", "--time=4:00:00", "--partition=cpu"])
      expect(script).toContain(`#SBATCH ${line}\n`);
    expect(slurmScript("/s", [0, 1, 2, 5, 7, 8], {})).toContain("#SBATCH --array=0-2,5,7-8\n");
  });

  /** A task of the array as Slurm would run it; `stop` sends it the signal once there is a checkpoint. */
  async function task(index: number, stop?: NodeJS.Signals): Promise<number | null> {
    const env = {
      ...process.env,
      PATH: standIns({ scontrol: "" }),
      SLURM_ARRAY_JOB_ID: "4711",
      SLURM_ARRAY_TASK_ID: `${index}`,
    };
    const child = spawn("bash", [join(into, "slurm.sh")], { env, stdio: "ignore" });
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    const checkpoints = join(into, "runs", `${index}`, "checkpoints");
    while (stop && !(existsSync(checkpoints) && readdirSync(checkpoints).some((name) => !name.startsWith("."))))
      await setTimeout(20);
    if (stop) child.kill(stop);
    return ended;
  }

  it("stops with a checkpoint when Slurm says so, goes back to its queue, and ends as if it had not been stopped", async () => {
    expect(await task(1, "SIGUSR1")).toBe(75);
    expect(readFileSync(join(folder, "scontrol.said"), "utf8")).toBe("requeue 4711_1\n");
    expect((await summarise(join(into, "runs", "1"))).status).toBe("stopped");
    expect(await task(1)).toBe(0);
    expect(await task(1)).toBe(0);
    const local = join(folder, "local");
    process.execArgv.push("--import", "tsx"); // for the processes of trials
    await sweep({ ...spec, vary: { rate: [0.01] }, into: local }).result;
    expect(await weightsHash(await summarise(join(into, "runs", "1")))).toBe(
      await weightsHash(await summarise(join(local, "runs", "0"))),
    );
  }, 120_000);
});

describe("a sweep on Kubernetes", () => {
  it("is an Indexed Job over its trials, in which a pod that was evicted does not count as failed", async () => {
    const into = join(folder, "My rates");
    const session = sweep({
      ...spec,
      into,
      on: launcherNamed("kubernetes:1", { image: "lab/layerwise", claim: "disk" }),
    });
    expect((await session.result).reason).toBe("submitted");
    const job = parse(readFileSync(join(into, "kubernetes.yaml"), "utf8"));
    expect(job).toMatchObject({
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "layerwise-my-rates" },
      spec: { completionMode: "Indexed", completions: 2, parallelism: 1 },
    });
    const { containers, volumes, restartPolicy } = job.spec.template.spec;
    expect(containers[0]).toMatchObject({ image: "lab/layerwise", volumeMounts: [{ subPath: "My rates" }] });
    expect(containers[0].command.at(-1)).toBe('exec layerwise trial /sweep "$JOB_COMPLETION_INDEX"');
    expect([volumes[0].persistentVolumeClaim.claimName, restartPolicy]).toEqual(["disk", "Never"]);
    expect(job.spec.podFailurePolicy.rules[0]).toMatchObject({ action: "Ignore", onExitCodes: { values: [75] } });
  });
});

describe("a launcher's name", () => {
  it.each([
    ["local:0", {}, "--on: expected local:N, redis://host"],
    ["slurm:2000", {}, "N from 1 to 1024, got slurm:2000"],
    ["local", { sbatch: "--time=1" }, "--sbatch: expected a flag of --on local"],
    ["postgres://host", {}, "postgres, which is not offered"],
  ])("%s %j is refused", (name, options, message) => {
    expect(() => launcherNamed(name, options)).toThrow(message);
  });
});
