/** The launcher in this process: one trial after another, whose events are those of the sweep. */
import type { TaskEvent } from "../tasks/job.ts";
import { joinWorld, threadsEach } from "../tasks/mpi.ts";
import type { Given } from "../tasks/text-data.ts";
import type { Session } from "../train/session.ts";
import type { Launcher, SweepEvent } from "./launcher.ts";
import { sharedThreads } from "./local.ts";
import type { RunOrder, SingleOrder } from "./orders.ts";
import { runTrial } from "./sweep-folder.ts";
import { trialName } from "./sweep-text.ts";
import { announce } from "./together.ts";

/** Runs trials one after another in this process, on what is handed over; the first that fails ends the sweep. */
export function hereLauncher(given: Given = {}): Launcher {
  return {
    together: true,
    below: async () => (given.engine ? {} : { threads: threadsEach(await sharedThreads(1)) }),
    async launch({ path, trials }, waiting, tell, signal) {
      const world = await joinWorld();
      const onOrder = world && ((order: RunOrder<SingleOrder>) => announce(world, order));
      for (const { index } of waiting) {
        if (signal.aborted) return;
        const trial = trials[index]!;
        tell({ type: "note", text: trialName(trial) });
        const session = runTrial(path, index, { ...given, signal, onOrder });
        for await (const event of session) tell({ type: "event", trial, event });
        tell({ type: "ended", trial: await session.result });
      }
    },
  };
}

/** A sweep as if its trials were one session: the events of those in this process, and notes. */
export function eventsHere<R>(session: Session<SweepEvent, R>): Session<TaskEvent, R> {
  return {
    result: session.result,
    async *[Symbol.asyncIterator]() {
      for await (const event of session) {
        if (event.type === "event") yield event.event;
        else if (event.type === "note") yield event;
      }
    },
  };
}
