import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { commands } from "./commands.ts";
import { scriptFor } from "./completion.ts";

const script = await scriptFor("bash", commands);
const hasBash = spawnSync("bash", ["--version"]).status === 0;
if (!hasBash) console.warn("skipped: no bash to complete in");

/** What bash offers after the words, the last of which is being written. */
function offered(...words: string[]): string[] {
  const line = ["layerwise", ...words].map((word) => `'${word}'`).join(" ");
  const asked = `${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length}; _layerwise; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync("bash", ["--norc", "-c", asked], { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  return stdout.split("\n").filter((word) => word !== "");
}

describe.skipIf(!hasBash)("completion in bash", () => {
  it("is registered for the command", () => {
    const { stdout } = spawnSync("bash", ["--norc", "-c", `${script}\ncomplete -p layerwise`], { encoding: "utf8" });
    expect(stdout).toContain("-F _layerwise layerwise");
  });

  it.each([
    [["tr"], ["train", "translate", "trial"]],
    [["train", "--feed"], ["--feed-forward"]],
    [
      ["train", "--share", "cycle"],
      ["cycle", "cycle_rev"],
    ],
    [
      ["search", "--preset", "par-"],
      ["par-original", "par-headline"],
    ],
    [["runs", "show", "--j"], ["--json"]],
    [["runs", "remo"], ["remove"]],
    [["runs", "remove", "--y"], ["--yes"]],
    [["completion", "--h"], ["--help"]],
  ])("offers after %j %j", (words, wanted) => {
    expect(offered(...words).sort()).toEqual([...wanted].sort());
  });

  it("offers files where a flag takes one, and as arguments", () => {
    expect(offered("train", "--config", "package")).toEqual(expect.arrayContaining(["package.json"]));
    expect(offered("eval", "fixt")).toEqual(["fixtures"]);
  });
});

describe("completion in other shells", () => {
  it("is bash's for zsh, through bashcompinit", async () => {
    expect(await scriptFor("zsh", commands)).toContain(`bashcompinit\n${script}`);
  });

  it("has a line for each flag in fish, with quotes that close", async () => {
    const lines = (await scriptFor("fish", commands)).trim().split("\n").slice(1);
    expect(lines.filter((line) => !/^complete -c layerwise -n /.test(line))).toEqual([]);
    const open = lines.filter((line) => line.replaceAll(/\\./g, "").split("'").length % 2 === 0);
    expect(open).toEqual([]);
    expect(lines).toContainEqual(expect.stringMatching(/from train' -l share -x -a 'sequence cycle/));
  });
});
