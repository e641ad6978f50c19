/** A script: takes one order from the process that started it, and carries it out on its own, to its end or until it is told to stop. */
import { messageOf } from "../base/errors.ts";
import { dryRun } from "../tasks/dry-run.ts";
import { carryOut, type Order, readOrder } from "./orders.ts";

const say = (text: string) => void process.stderr.write(`${text}\n`);

/** The first signal stops after the step, with a checkpoint; the second ends the process. */
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => (stop.signal.aborted ? process.exit(130) : stop.abort()));
}
process.on("SIGHUP", () => {}); // it outlives the terminal of who started it

async function work(order: Exclude<Order, { do: "try" }>): Promise<void> {
  setImmediate(() => process.disconnect()); // and who started it; not while its message is being handled
  const session = await carryOut(order, stop.signal, say);
  for await (const event of session) {
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

process.once("message", (order: Order) => {
  (order.do === "try" ? attempt(order) : work(order)).catch((error: unknown) => {
    say(messageOf(error));
    process.exitCode = 1;
    if (process.connected) process.disconnect();
  });
});
