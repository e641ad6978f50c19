/** A run that the command line made: opened, evaluated, resumed to its end and exported. */
import { writeFileSync } from "node:fs";
import { Run } from "layerwise";

const stopped = await Run.open("run", "language", { checkpoint: "last" });
const before = await stopped.evaluate({ split: "test" });
const { reason, steps, weights } = await stopped.resume().result;
const run = await Run.open("run", "language", { checkpoint: "last" });
const after = await run.evaluate({ split: "test" });
for (const [name, bytes] of Object.entries(await run.exported())) writeFileSync(name, bytes);
const sum = [...weights.values()].reduce((total, values) => values.reduce((a, b) => a + b, total), 0);
console.log(JSON.stringify({ reason, from: stopped.step, steps, before: before.loss, after: after.loss, sum }));
