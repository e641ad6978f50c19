import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { text } from "../index.ts";
import { scriptFor } from "./commands/completion.ts";
import { taskNames as glueNames } from "./commands/glue.ts";
import { commands } from "./commands.ts";

const script = await scriptFor("bash", commands);
const [hasBash, hasZsh, hasFish] = ["bash", "zsh", "fish"].map((shell) => {
  const isThere = spawnSync(shell, ["--version"]).status === 0;
  if (!isThere) process.stderr.write(`skipped: no ${shell} to complete in\n`);
  return isThere;
});

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
      ["par-original", "par-paper", "par-headline"],
    ],
    [["runs", "show", "--j"], ["--json"]],
    [["runs", "remo"], ["remove"]],
    [["runs", "remove", "--y"], ["--yes"]],
    [["completion", "--h"], ["--help"]],
    [
      ["completion", ""],
      ["bash", "zsh", "fish"],
    ],
    [
      ["help", "com"],
      ["compare", "completion"],
    ],
    [["glue", "search", "SS"], []],
  ])("offers after %j %j", (words, wanted) => {
    expect(offered(...words).sort()).toEqual([...wanted].sort());
  });

  it("offers files where a flag takes one, and as arguments", () => {
    expect(offered("train", "--config", "package")).toEqual(expect.arrayContaining(["package.json"]));
    expect(offered("eval", "fixt")).toEqual(["fixtures"]);
  });
});

describe("names that are completed", () => {
  it("are those that the commands take", async () => {
    expect(glueNames).toEqual([...text.glueTasks.values()].flatMap(({ name, files }) => (files.train ? [name] : [])));
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

/** Words that are being written, and all that a shell offers for the last of them. */
const asked: readonly (readonly [string, readonly string[]])[] = [
  ["tr", ["train", "translate", "trial"]],
  ["train --feed", ["--feed-forward"]],
  ["train --share cycle", ["cycle", "cycle_rev"]],
  ["runs remo", ["remove"]],
  ["runs remove --y", ["--yes"]],
  ["eval fixt", ["fixtures/"]],
  ["completion ", ["bash", "fish", "zsh"]],
  ["schema se", ["search"]],
  ["glue SS", ["SST-2"]],
  ["help com", ["compare", "completion"]],
];

describe.skipIf(!hasFish)("completion in a real fish", () => {
  it.each(asked)("offers after %j %j", async (line, wanted) => {
    const folder = mkdtempSync(join(tmpdir(), "layerwise-fish-"));
    const source = `${await scriptFor("fish", commands)}\ncomplete -C "layerwise ${line}"`;
    const env = { ...process.env, HOME: folder };
    const { stdout, stderr } = spawnSync("fish", ["--no-config", "-c", source], { encoding: "utf8", env });
    rmSync(folder, { recursive: true, force: true });
    expect(stderr).toBe("");
    const words = stdout.trim().split("\n");
    expect(words.map((each) => each.split("\t")[0]).sort()).toEqual([...wanted].sort());
  });
});

/** A zsh in a terminal of its own, into which a line and Tab are typed; prints what the terminal shows until `wanted` is in it. */
const TYPED = `
zmodload zsh/zpty
zpty z 'TERM=vt100 zsh -f -i'
zpty -w z "source $1; PROMPT=; unset zle_bracketed_paste; unsetopt list_ambiguous; LISTMAX=0; print REA''DY"
zpty -r z shown '*READY*'
zpty -w -n z "layerwise $2"$'\\t'
shown=
for i in {1..200}; do
  while zpty -r -t z more; do shown+=$more; done
  [[ $shown == *$3* ]] && break
  sleep 0.1
done
print -r -- $shown
zpty -d z`;

describe.skipIf(!hasZsh)("completion in a real zsh", () => {
  const folder = mkdtempSync(join(tmpdir(), "layerwise-zsh-"));
  const file = join(folder, "completion.zsh");
  beforeAll(async () => writeFileSync(file, await scriptFor("zsh", commands)));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(asked)("offers after %j %j", (line, wanted) => {
    const env = { ...process.env, HOME: folder, ZDOTDIR: folder };
    const last = wanted.at(-1)!;
    const args = ["-f", "-c", TYPED, "zsh", file, line, last.replace("/", "")];
    const { stdout, stderr } = spawnSync("zsh", args, { encoding: "utf8", env });
    expect(stderr).toBe("");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what moves the cursor of a terminal
    const words = stdout.replace(/\x1b\[[\d;]*[A-Za-z]|[\x00-\x07]/g, " ").split(/\s+/);
    expect(words).toEqual(expect.arrayContaining(wanted.map((word) => word.replace("/", ""))));
  });
});
