/** `layerwise worker`: runs trials of sweeps that wait on a queue. */
import type { WorkerOptions } from "../../sweep/index.ts";
import type { Command } from "../command.ts";
import { wholeFrom } from "../flags.ts";
import { say } from "../output.ts";
import { stoppable } from "../session.ts";

const examples = `
Each trial runs in a process of its own; the worker only hands it over, so that a step that takes long loses nothing. Where this machine sees the
sweep's folder under the same path, trials work in it; elsewhere the worker fetches what it needs and sends checkpoints and results through the
queue. Paths in the sweep's settings (--data, from) are read on this machine. Ctrl-C stops the trials with checkpoints and puts them back.

The address may hold a password, which is never printed: redis://:password@host:6379. In LAYERWISE_QUEUE it stays out of the list of processes too.
Needs: npm install bullmq@6.7.0 ioredis@6.0.0, the same version of layerwise as the sweep's, and a Redis or Valkey on a trusted network.

Examples:
  layerwise worker --connect redis://office:6379
  LAYERWISE_QUEUE=rediss://user:password@host:6380 layerwise worker --slots 2`;

export function addWorker(program: Command): void {
  program
    .command("worker")
    .option("--connect <url>", "the queue (default: the environment's LAYERWISE_QUEUE)")
    .option("--slots <n>", "trials at a time; they share the machine's threads", wholeFrom(1, 1024), 1)
    .option("--folder <dir>", "for runs of sweeps in folders that this machine does not see", "runs/worker")
    .option("--no-shared", "send files through the queue, even where the sweep's folder is in sight")
    .explain(examples)
    .action(run);
}

async function run(flags: WorkerOptions): Promise<void> {
  const { serveQueue } = await import("../../sweep/index.ts");
  await stoppable((signal) => serveQueue({ ...flags, say, signal }));
}
