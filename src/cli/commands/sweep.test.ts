import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { command, layerwise, ownFolder, printedBy } from "../../../test/command.ts";
import { lockHolder } from "../../files/index.ts";
import { summarise, weightsHash } from "../../runs/index.ts";
import type { SweepResult } from "../../sweep/index.ts";
import { addSweep, addTrial } from "./sweep.ts";
import { addTrain } from "./train.ts";

const folder = ownFolder("sweep-command");
const file = join(folder, "rates.yaml");
const yaml = `task: language
preset: tiny
settings: { steps: 300, evaluateEvery: 100, checkpointEvery: 10, threads: 1, width: 16 }
vary: { rate: [0.001, 0.01] }
`;
writeFileSync(file, yaml);
const out = join(folder, "out");
const run = (index: number) => join(out, "runs", `${index}`);

const isTraining = (index: number) => lockHolder(join(run(index), "lock"))?.live === true;
/** None where the run has its lock, but not yet its folders. */
const checkpoints = (index: number) => {
  const path = join(run(index), "checkpoints");
  return existsSync(path) ? readdirSync(path).filter((name) => !name.startsWith(".")) : [];
};

/** Begins the sweep, and sends it a signal once both trials train and have a checkpoint. */
async function interrupted(signal: "SIGKILL" | "SIGINT"): Promise<number | null> {
  const child = spawn(process.execPath, command("sweep", file, "--out", out, "--on", "local:2"), { stdio: "ignore" });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const isUnderWay = (index: number) => isTraining(index) && checkpoints(index).length > 0;
  while (child.exitCode === null && ![0, 1].every(isUnderWay)) await setTimeout(10);
  child.kill(signal);
  return ended;
}

describe("layerwise sweep", () => {
  it("stops its trials with checkpoints, and leaves none behind when it is killed", async () => {
    expect(await interrupted("SIGINT")).toBe(0);
    const stopped = await Promise.all([0, 1].map((i) => summarise(run(i))));
    expect(stopped.map(({ status }) => status)).toEqual(["stopped", "stopped"]);
    expect(await interrupted("SIGKILL")).toBeNull();
    for (let waited = 0; waited < 30_000 && [0, 1].some(isTraining); waited += 50) await setTimeout(50);
    expect([0, 1].some(isTraining)).toBe(false);
  });

  it("goes on to the weights of single runs, bit for bit, and does no trial twice", async () => {
    const first = layerwise("sweep", file, "--out", out, "--json");
    const { reason, rows, best } = JSON.parse(first.stdout) as SweepResult;
    expect([first.status, reason, rows.map(({ trials }) => trials[0]!.status)]).toEqual([
      0,
      "finished",
      ["finished", "finished"],
    ]);
    expect(best!.figure!.mean).toBe(Math.min(...rows.map(({ figure }) => figure!.mean)));
    const alone = join(folder, "alone");
    await printedBy(addTrain, "train", "--config", join(out, "trials", "1.yaml"), "--out", alone);
    expect(await weightsHash(await summarise(run(1)))).toBe(await weightsHash(await summarise(alone)));
    expect(await printedBy(addTrial, "trial", out, "1")).toContain("finished at step 300, figure");
  });

  it("shows a table, a line per trial and a picture", async () => {
    const [csv, svg] = [join(folder, "t.csv"), join(folder, "t.svg")];
    const shown = await printedBy(addSweep, "sweep", "show", out, "--csv", csv, "--svg", svg);
    expect(shown).toMatch(
      /^rate +perplexity +status +trials\n0\.01 +\d+\.\d+ +finished +1\n0\.001 +\d+\.\d+ +finished +0\nbest: /,
    );
    expect(readFileSync(csv, "utf8")).toMatch(
      /^trial,round,rate,seed,status,perplexity,run\n0,1,0\.001,1,finished,\d+\.\d+,/,
    );
    expect(readFileSync(svg, "utf8").match(/<circle /g)).toHaveLength(2);
  });

  it("prints its trials with --dry-run, and makes no folder", async () => {
    const other = join(folder, "dry");
    expect(await printedBy(addSweep, "sweep", file, "--out", other, "--dry-run")).toMatch(
      /^rate\n0\.001\n0\.01\n2 candidates, 1 seeds; lowest perplexity/,
    );
    expect(existsSync(other)).toBe(false);
  });

  it("refuses another sweep in its folder, with what differs, and launchers that it has not", async () => {
    const second = join(folder, "second.yaml");
    writeFileSync(second, yaml.replace("steps: 300", "steps: 301"));
    await expect(printedBy(addSweep, "sweep", second, "--out", out)).rejects.toThrow(
      "(settings.steps 300), got settings.steps 301",
    );
    await expect(printedBy(addSweep, "sweep", file, "--on", "mars")).rejects.toThrow(
      "--on: expected local:N, redis://host, slurm:N or kubernetes:N, N from 1 to 1024, got mars",
    );
    await expect(printedBy(addSweep, "sweep", join(folder, "none.yaml"))).rejects.toThrow("cannot read");
  });
});
