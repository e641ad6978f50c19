/** A script: takes one order from the process that started it, and carries it out on its own, to its end or until it is told to stop. */
import { setImmediate } from "node:timers/promises";
import { messageOf } from "../base/errors.ts";
import { dryRun } from "../tasks/dry-run.ts";
import { importInherited } from "../tasks/own-modules.ts";
import { carryOutAny, readOrder } from "./any-order.ts";
import type { Order, RunOrder, TrialMessage, TrialOrder } from "./orders.ts";
import { reporting } from "./processes.ts";
import { runTrial } from "./sweep-folder.ts";

const say = (text: string) => void process.stderr.write(`${text}\n`);

/** The first signal stops after the step, with a checkpoint; the second ends the process. */
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => (stop.signal.aborted ? process.exit(130) : stop.abort()));
}
process.on("SIGHUP", () => {}); // it outlives the terminal of who started it

async function work(order: RunOrder): Promise<void> {
  setTimeout(() => process.disconnect(), 0); // and who started it; not while its message is being handled
  const session = await carryOutAny(order, stop.signal, say);
  for await (const told of session) {
    const event = told.type === "event" ? told.event : told;
    if (event.type === "note") say(event.text);
    else if (event.type === "begin") say(`begins at step ${event.step} in ${event.path}`);
    else if (event.type === "end") say(`${event.reason} at step ${event.step}`);
  }
  await session.result;
}

async function attempt(order: Extract<Order, { do: "try" }>): Promise<void> {
  const facts = await dryRun(await (await readOrder(order.order, say)).open());
  process.send!({ facts }, () => process.exit(0));
}

async function trial({ sweep, index, threads }: TrialOrder): Promise<void> {
  process.once("disconnect", () => stop.abort()).once("message", () => stop.abort()); // its launcher is gone, or says so
  await setImmediate(); // a launcher that is gone already is known now
  const send = (message: TrialMessage) => process.connected && process.send!(message);
  const see = reporting((report) => send({ report }));
  for await (const event of runTrial(sweep, index, { signal: stop.signal, say, threads })) {
    see(event);
    if (event.type === "checkpoint") send({ saved: event.step });
  }
  if (process.connected) process.disconnect();
}

async function obey(order: Order): Promise<void> {
  await importInherited();
  if (order.do === "try") return attempt(order);
  return order.do === "trial" ? trial(order) : work(order);
}

process.once("message", (order: Order) => {
  obey(order).catch((error: unknown) => {
    say(messageOf(error));
    process.exitCode = 1;
    if (process.connected) process.disconnect();
  });
});
