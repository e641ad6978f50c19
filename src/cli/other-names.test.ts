import { describe, expect, it } from "vitest";
import { Command } from "./command.ts";
import { commands } from "./commands.ts";
import { withOurNames } from "./other-names.ts";

async function named(line: string) {
  const words = line.split(" ");
  const program = new Command();
  (await commands[words[0]!]!.load())(program);
  const found = await withOurNames(program, words);
  return { line: found.words.join(" "), hints: found.hints };
}

describe("flags that are called otherwise", () => {
  it.each([
    ["train --lr 0.1", "train --rate 0.1"],
    ["train --batch-size=4 --layers 2 --seq-len 8", "train --batch=4 --depth 2 --length 8"],
    ["train --optimizer adam --d_model 8", "train --optimiser adam --width 8"],
    ["search --layers 3 --vocab-size 300", "search --blocks 3 --pieces 300"],
    ["pretrain --intermediate-size 8 --warmup-steps 3", "pretrain --feed-forward 8 --warmup 3"],
    ["glue SST-2 --learning-rate 0.1 --output-dir x", "glue SST-2 --rate 0.1 --out x"],
    ["generate run --max-tokens 5", "generate run --tokens 5"],
    ["plan --hidden 64", "plan --feed-forward 64"],
  ])("%s is taken for %s", async (given, meant) => {
    expect((await named(given)).line).toBe(meant);
  });

  it("are named in a hint, each once", async () => {
    expect((await named("train --lr 1 --lr 2 --rate 3")).hints).toEqual(["--lr is called --rate here"]);
  });

  it("stay as they are where they are values, come after --, or mean nothing here", async () => {
    for (const line of [
      "generate run --prompt --lr",
      "train -- --lr 1",
      "train --unheard-of 1",
      "generate run --lr 1",
    ]) {
      expect(await named(line)).toEqual({ line, hints: [] });
    }
  });
});
