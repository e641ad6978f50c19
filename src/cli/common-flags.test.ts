import { describe, expect, it } from "vitest";
import { Command } from "./command.ts";
import { commands } from "./commands.ts";

/** The commands that train, and of the flags that all of them have the one that sets how long. */
const training = [
  ["train", "minutes"],
  ["pretrain", "minutes"],
  ["search", "minutes"],
  ["retrain", "minutes"],
  ["compare", "minutes"],
  ["glue", "epochs"],
  ["finetune", "epochs"],
] as const;
const common = ["preset", "config", "dry-run", "json", "out", "seed", "threads", "device"];

async function flagsOf(name: string): Promise<string[]> {
  const program = new Command();
  (await commands[name]!.load())(program);
  return program.commands[0]!.options.map(({ long }) => long!.slice(2));
}

describe("a command that trains", () => {
  it.each(training)("%s takes the common flags, and a length in %s", async (name, length) => {
    expect(await flagsOf(name)).toEqual(expect.arrayContaining([...common, length]));
  });

  it("is one of these: only they have a preset, and latency, which times what search would train, and reproduce, whose presets are sizes", async () => {
    const presets = await Promise.all(Object.keys(commands).map(async (name) => [name, await flagsOf(name)] as const));
    const found = presets.filter(([, flags]) => flags.includes("preset")).map(([name]) => name);
    expect(found.sort()).toEqual([...training.map(([name]) => name), "latency", "reproduce"].sort());
  });
});
