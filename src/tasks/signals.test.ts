import { expect, it } from "vitest";
import { stopOnSignals } from "./signals.ts";

function abortedBy(name: NodeJS.Signals, terminal: boolean): boolean {
  const { signal, release } = stopOnSignals({ write: () => true }, { terminal });
  process.emit(name);
  release();
  return signal.aborted;
}

it("SIGINT, SIGTERM and a closed terminal ask training to stop", () => {
  expect((["SIGINT", "SIGTERM", "SIGHUP"] as const).map((name) => abortedBy(name, true))).toEqual([true, true, true]);
});

it("without a terminal, as under nohup, SIGHUP changes nothing", () => {
  expect(abortedBy("SIGHUP", false)).toBe(false);
  expect(abortedBy("SIGTERM", false)).toBe(true);
});

it("of a scheduler's signals the second changes nothing", () => {
  const { signal, release } = stopOnSignals({ write: () => true }, { scheduled: true });
  process.emit("SIGUSR1");
  expect(signal.aborted).toBe(true);
  process.emit("SIGTERM"); // would end this process
  release();
});
