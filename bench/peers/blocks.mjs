/** What the JavaScript peers of the blocks benchmark share: weights, packages of the user's folder, and answers to lines. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { readSafetensors } from "../../src/format/safetensors.ts";

const [folder, path, text] = process.argv.slice(2);

const { tensors } = readSafetensors(readFileSync(path), path);
export const load = createRequire(join(folder, "package.json"));

/** Sizes, tensors, and the names of the weights: what is no input. */
export const problem = {
  config: JSON.parse(text),
  tensors,
  weightNames: [...tensors.keys()].filter((name) => !name.startsWith("input.")),
};

/**
 * Answers `about`, `losses N` (the losses of N updates) and `step N` (their times in milliseconds); prints `ready` first.
 * `step` makes one update and gives the loss before it.
 */
export async function answer(about, step) {
  const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
  say("ready");
  for await (const line of createInterface({ input: process.stdin })) {
    const [command, count] = line.split(" ");
    if (command === "quit") break;
    if (command === "about") say(about);
    const [losses, times] = [[], []];
    for (let i = 0; i < Number(count ?? 0); i++) {
      const start = performance.now();
      losses.push(await step());
      times.push(performance.now() - start);
    }
    if (command === "losses") say(losses);
    if (command === "step") say(times);
  }
  process.exit(0);
}
