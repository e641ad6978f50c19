/** Launchers by name: `local:2`, `redis://host`, `slurm:8`, `kubernetes:8`. */
import { reject } from "../base/errors.ts";
import { worldSize } from "../tasks/mpi.ts";
import { hereLauncher } from "./here.ts";
import { kubernetesLauncher } from "./kubernetes.ts";
import type { Launcher } from "./launcher.ts";
import { localLauncher } from "./local.ts";
import { addressFrom, isAddress, redacted } from "./queue/connection.ts";
import { queueLauncher } from "./queue/launcher.ts";
import { slurmLauncher } from "./slurm.ts";

/** What clusters are told besides. */
export interface ClusterOptions {
  /** Options of sbatch, such as `--time=4:00:00 --partition=cpu`. */
  readonly sbatch?: string | undefined;
  /** The container's image. */
  readonly image?: string | undefined;
  /** The persistent volume claim that holds the sweep's folder. */
  readonly claim?: string | undefined;
}

const MOST = 1024;

/** The launcher of a name; a number after a colon is how many trials may run at a time. */
export function launcherNamed(name: string, options: ClusterOptions = {}): Launcher {
  if (isAddress(name)) {
    refuseForeign("redis", options);
    return queueLauncher(addressFrom(name, "--on"));
  }
  const [, kind, count] = /^(local|slurm|kubernetes)(?::(\d+))?$/.exec(name) ?? [];
  const slots = count === undefined ? undefined : Number(count);
  if (kind === undefined || slots === 0 || (slots ?? 0) > MOST) {
    const needed = `local:N, redis://host, slurm:N or kubernetes:N, N from 1 to ${MOST}`;
    return reject({ who: "--on", needed, got: redacted(name) }, 2);
  }
  refuseForeign(kind, options);
  if (kind === "slurm") return slurmLauncher({ ...options, parallel: slots });
  if (kind === "kubernetes") return kubernetesLauncher({ ...options, parallel: slots });
  return worldSize() > 1 && (slots ?? 1) === 1 ? hereLauncher() : localLauncher(slots); // of mpirun: all train each trial
}

const ownOptions: Readonly<Record<string, readonly string[]>> = { slurm: ["sbatch"], kubernetes: ["image", "claim"] };

function refuseForeign(kind: string, options: ClusterOptions): void {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const foreign = given.find(([key]) => !ownOptions[kind]?.includes(key))?.[0];
  if (foreign) reject({ who: `--${foreign}`, needed: `a flag of --on ${kind}`, got: `--${foreign}` }, 2);
}
