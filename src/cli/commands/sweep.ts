/** `layerwise sweep` and `layerwise trial`: many runs over settings and seeds, as a folder, and one run of them. */
import { basename, extname, join } from "node:path";
import type { Command } from "../command.ts";
import { wholeFrom } from "../flags.ts";
import { nextLines, print, save, say } from "../output.ts";
import { isUnfinished, watchSession, watchTrials } from "../session.ts";

const examples = `
The file (YAML):
  task: language                # or translate, search, pretrain; retrain with
                                # source, finetune with glueTask and from
  preset: tiny                  # optional
  settings: { steps: 200 }      # hold for all trials
  vary:                         # lists; ranges for random and halving
    rate: { low: 1e-4, high: 1e-2, scale: log }
    share: [cycle, sequence]
  candidates:                   # in place of vary: sets of settings by name
    shallow: { depth: 6 }
    deep: { depth: 12, rate: 0.0005 }
  strategy: halving             # or grid (default), random; round by round the
                                # better half goes on, for twice as long
  trials: 8                     # random and halving: candidates
  seeds: 3                      # or a list
  figure: perplexity            # default: what the task itself goes by
  goal: lowest

The folder: sweep.yaml, trials/N.yaml (settings for --config), runs/N (run folders; NAME/seed-N of named candidates, seed-N where only seeds vary).
The same command goes on where it was stopped; with more seeds or named candidates the sweep grows.

Where trials run (--on):
  local:N                 N at a time on this machine (default: 1)
  redis://host:6379       on the machines where \`layerwise worker --connect
                          redis://host:6379\` runs; valkey:// likewise; redis
                          alone takes the address from LAYERWISE_QUEUE
  slurm:N                 writes a job array, slurm.sh, and submits it;
                          N at a time (default: no limit)
  kubernetes:N            prints an Indexed Job

Examples:
  layerwise sweep rates.yaml --dry-run
  layerwise sweep rates.yaml --out runs/rates --on local:2
  layerwise sweep rates.yaml --out runs/rates --on redis://office:6379
  layerwise sweep rates.yaml --on slurm:8 --sbatch "--time=4:00:00 --cpus-per-task=8"
  layerwise sweep show runs/rates --svg rates.svg
  layerwise trial runs/rates 3

JSON: {path, reason, spec, rows: [{round, values, figure: {mean, deviation, values}, trials: [{index, seed, status, figure, run}]}], best, failed}`;

const trialHelp = `
Begins the run, goes on with it, or does nothing where it has ended. SIGTERM, SIGUSR1 and Ctrl-C stop it after its step, with a checkpoint; it
then ends with exit code 75, and a scheduler may start it again.`;

/** The trial has not ended, and goes on when it is started again: sysexits' EX_TEMPFAIL. */
const TRY_AGAIN = 75;

interface SweepFlags {
  out?: string;
  on: string;
  sbatch?: string;
  image?: string;
  claim?: string;
  dryRun?: boolean;
  json?: boolean;
}

export function addSweep(program: Command): void {
  const command = program
    .command("sweep")
    .argument("<file>", "what is tried: a YAML file")
    .option("--out <dir>", "the sweep's folder (default: runs/ and the file's name)")
    .option("--on <launcher>", "where trials run: local:N, redis://host, slurm:N or kubernetes:N", "local")
    .option("--sbatch <options>", "slurm: options of sbatch, such as --time=4:00:00")
    .option("--image <name>", "kubernetes: the container's image")
    .option("--claim <name>", "kubernetes: the volume claim that holds the sweep's folder")
    .option("--dry-run", "print the trials, and stop")
    .option("--json", "print only JSON")
    .explain(examples)
    .action(run);
  command
    .command("show")
    .description("what the trials of a sweep came to so far")
    .argument("<dir>", "the sweep's folder")
    .option("--json", "print only JSON")
    .option("--csv <file>", "write a line per trial")
    .option("--svg <file>", "write a picture of the figure against each setting")
    .action(show);
}

export function addTrial(program: Command): void {
  program
    .command("trial")
    .argument("<dir>", "the sweep's folder")
    .argument("<index>", "which trial, from 0", wholeFrom(0))
    .option("--json", "print only JSON")
    .explain(trialHelp)
    .action(trial);
}

async function run(file: string, flags: SweepFlags): Promise<void> {
  const { launcherNamed, MANIFEST_FILE, planSweep, planText, readSpecFile, sweep, sweepText } = await import(
    "../../sweep/index.ts"
  );
  const { sbatch, image, claim } = flags;
  const on = launcherNamed(flags.on, { sbatch, image, claim });
  const spec = await readSpecFile(file);
  const plan = await planSweep(spec, file);
  if (flags.dryRun) {
    const { spec: complete, rounds, candidates } = plan;
    return print(flags.json ? JSON.stringify({ spec: complete, rounds, candidates }) : planText(plan));
  }
  const into = flags.out ?? join("runs", basename(file, extname(file)));
  const { failed, ...found } = await watchTrials((signal) => sweep({ ...spec, into, on, signal }), flags.on);
  if (found.reason === "submitted" && flags.on.startsWith("kubernetes")) {
    const { readText } = await import("../../files/index.ts");
    process.stdout.write(await readText(join(into, MANIFEST_FILE), "sweep"));
  } else print(flags.json ? JSON.stringify({ ...found, failed }) : sweepText(found));
  if (!isUnfinished(into, found.reason) && !flags.json) say(nextLines(into, ["sweep show RUN", "runs RUN"]));
}

async function show(path: string, { json, csv, svg }: { json?: boolean; csv?: string; svg?: string }): Promise<void> {
  const { readSweep, sweepCsv, sweepPoints, sweepText } = await import("../../sweep/index.ts");
  const found = await readSweep(path);
  await save(csv, sweepCsv(found));
  if (svg !== undefined) {
    const { sweepSvg } = await import("../../pictures/index.ts");
    await save(svg, sweepSvg(sweepPoints(found), found.spec.figure));
  }
  print(json ? JSON.stringify(found) : sweepText(found));
}

async function trial(path: string, index: number, { json }: { json?: boolean }): Promise<void> {
  const { runTrial, trialText } = await import("../../sweep/index.ts");
  const state = await watchSession((signal) => runTrial(path, index, { signal, say }), { scheduled: true });
  print(json ? JSON.stringify(state) : trialText(state));
  if (state.status !== "finished" && state.status !== "diverged") process.exitCode = TRY_AGAIN;
}
