/** The launcher on Kubernetes: writes an Indexed Job over the sweep's trials, to be printed and applied. */
import { basename, join, resolve } from "node:path";
import { stringify } from "yaml";
import { writeAtomically } from "../files/atomic.ts";
import { packageVersion } from "../tasks/environment.ts";
import type { Launcher } from "./launcher.ts";

/** What Kubernetes is told besides the trials. */
export interface KubernetesOptions {
  /** Pods at a time. Default: all. */
  readonly parallel?: number | undefined;
  /** An image in which `layerwise` runs. Default: layerwise and the version. */
  readonly image?: string | undefined;
  /** The claim of the volume with the sweep's folder, by its name. Default: layerwise. */
  readonly claim?: string | undefined;
}

/** The manifest in the sweep's folder. */
export const MANIFEST_FILE = "kubernetes.yaml";

/** Writes kubernetes.yaml into the sweep's folder. */
export function kubernetesLauncher(options: KubernetesOptions = {}): Launcher {
  return {
    handsOver: true,
    below: async () => ({}),
    async launch({ path, trials }, waiting, tell) {
      const file = join(path, MANIFEST_FILE);
      const round = waiting[0]!.round;
      await writeAtomically(file, kubernetesJob(basename(resolve(path)), { round, trials: trials.length }, options));
      tell({ type: "note", text: `written: ${file}; copy ${path} to the volume, then: kubectl apply -f ${file}` });
    },
  };
}

const [MOUNT, RETRIES, SAVE_S] = ["/sweep", 3, 120];

/** The manifest: a pod per trial. One that is evicted saves a checkpoint, ends with 75, and is made again without counting as failed. */
export function kubernetesJob(
  name: string,
  { round, trials }: { readonly round: number; readonly trials: number },
  options: KubernetesOptions,
): string {
  const { parallel = trials, image = `layerwise:${packageVersion()}`, claim = "layerwise" } = options;
  const words = `layerwise-${name.toLowerCase()}`.replace(/[^a-z0-9]+/g, "-").slice(0, 50);
  const label = round === 0 ? words : `${words}-round-${round + 1}`; // a job cannot grow
  const container = {
    name: "trial",
    image,
    command: ["sh", "-c", `exec layerwise trial ${MOUNT} "$JOB_COMPLETION_INDEX"`],
    volumeMounts: [{ name: "sweep", mountPath: MOUNT, subPath: name }],
  };
  const ignored = [
    { action: "Ignore", onExitCodes: { containerName: "trial", operator: "In", values: [75] } },
    { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] },
  ];
  const pod = {
    restartPolicy: "Never",
    terminationGracePeriodSeconds: SAVE_S,
    containers: [container],
    volumes: [{ name: "sweep", persistentVolumeClaim: { claimName: claim } }],
  };
  return stringify({
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: label.replace(/-+$/, "") },
    spec: {
      completionMode: "Indexed",
      completions: trials,
      parallelism: Math.min(parallel, trials),
      backoffLimitPerIndex: RETRIES,
      podFailurePolicy: { rules: ignored },
      template: { spec: pod },
    },
  });
}
