/** A run that the command line made (`layerwise train --out run`): evaluated, resumed to its end, exported. */
import { Run } from "layerwise";

const stopped = await Run.open("run", "language", { checkpoint: "last" });
const before = await stopped.evaluate({ split: "test" });
const { reason, steps } = await stopped.resume().result;

const run = await Run.open("run", "language", { checkpoint: "last" });
const after = await run.evaluate({ split: "test" });
await run.export("exported");
console.log(`${reason}: steps ${stopped.step} → ${steps}, loss ${before.loss.toFixed(3)} → ${after.loss.toFixed(3)}`);
