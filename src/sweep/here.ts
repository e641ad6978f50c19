/** The launcher in this process: one trial after another, whose events are those of the sweep. */
import type { Given } from "../tasks/text-data.ts";
import type { Launcher } from "./launcher.ts";
import { sharedThreads } from "./local.ts";
import { runTrial } from "./sweep-folder.ts";
import { trialName } from "./sweep-text.ts";

/** Runs trials one after another in this process, on what is handed over; the first that fails ends the sweep. */
export function hereLauncher(given: Given = {}): Launcher {
  return {
    below: async () => (given.engine ? {} : { threads: await sharedThreads(1) }),
    async launch({ path, trials }, waiting, tell, signal) {
      for (const { index } of waiting) {
        if (signal.aborted) return;
        const trial = trials[index]!;
        tell({ type: "note", text: trialName(trial) });
        const session = runTrial(path, index, { ...given, signal });
        for await (const event of session) tell({ type: "event", trial, event });
        tell({ type: "ended", trial: await session.result });
      }
    },
  };
}
