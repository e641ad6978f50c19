import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { commandPage } from "../scripts/commands.ts";
import { choices, sentences, squad } from "../src/tasks/finetune/made-heads.contract.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const below = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(root, folder, name));
const pages = [join(root, "README.md"), join(root, "CHANGELOG.md"), ...below("docs")].filter((file) =>
  file.endsWith(".md"),
);

describe("links in the documentation", () => {
  it.each(pages.map((page) => relative(root, page)))("%s points to files that are there", (page) => {
    const text = readFileSync(join(root, page), "utf8").replace(/```[\s\S]*?```/g, "");
    const links = [...text.matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)/g)].map(([, to]) => to!);
    const broken = links.filter((to) => !/^(https?|mailto):/.test(to) && !existsSync(join(root, dirname(page), to)));
    expect(broken).toEqual([]);
  });
});

describe("the page of commands", () => {
  const page = commandPage();

  it("is what the commands say of themselves (npm run commands)", () => {
    expect(readFileSync(join(root, "docs/commands.md"), "utf8")).toBe(page);
  });

  it("fits a terminal of 80 columns", () => {
    expect(page.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });
});

/** Settings under which a page's command takes a second: they stand after its own, so that they win. */
const small: Readonly<Record<string, string>> = {
  train: "--pieces 300 --width 32 --heads 2 --length 32 --batch 8 --steps 4 --warmup 2 --evaluate-every 4",
  compare: '--preset tiny --steps 2 --seeds 1 --only "cycle 3/6"',
  search:
    "--steps 8 --evaluate-every 8 --blocks 2 --width 16 --heads 2 --feed-forward 32 --pieces 300 --cutoffs none --latency 1x8+8 --batch 4 --length 8",
  retrain: "--steps 4",
  finetune: "--epochs 1 --batch 4",
  pretrain: "--width 16 --heads 2 --embedding 8 --steps 4 --pieces 300 --length 16 --batch 4",
};

/** What the pages say that a command shows. */
const shows: Readonly<Record<string, RegExp>> = {
  plan: /depth +0 1 2 3 4 5[\s\S]+parameters[\s\S]+FLOPs/,
  search: /π|pattern|found/i,
  retrain: /baseline[\s\S]+perplexity|perplexity[\s\S]+baseline/,
  depth: /\S[₁-₆]|MASK/,
  generate: /\w/,
  predict: /good|bad|labels|answers|rome\t/,
  fill: /probability/,
  embed: /8 vectors of/,
  runs: /perplexity|status/,
};

/** Commands of a page that need nothing but what its own commands made before. */
function commandsOf(page: string): { line: string }[] {
  const blocks = [...readFileSync(page, "utf8").matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text!);
  const lines = blocks.flatMap((text) => text.replace(/\\\n\s*/g, " ").split("\n"));
  const own = lines.map((line) => line.trim()).filter((line) => /^(npx )?layerwise /.test(line));
  return own.filter((line) => !/\b(DIR|model\.safetensors)\b/.test(line)).map((line) => ({ line }));
}

const words = (line: string) => [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!);

/** Pages in the order in which they are read; those of a row go on with the runs of those before. */
const guides = ["share", "search", "adapt", "finetune", "data", "runs", "export"].map(
  (name) => `docs/guide/${name}.md`,
);

describe.each([["README.md"], guides])("commands of %s", (...row) => {
  const folder = mkdtempSync(join(tmpdir(), "layerwise-docs-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(root, "corpus"), join(folder, "corpus"));
  // The tables that a reader of the guide on fine-tuning has.
  for (const name of ["train.tsv", "dev.tsv"]) {
    const rows = Array.from({ length: 8 }, (_, i) => (i % 2 ? "a lovely day\tgood" : "a dull day\tbad"));
    writeFileSync(join(folder, name), `${["text\tlabel", ...rows].join("\n")}\n`);
  }
  // And its texts without labels, one a line.
  const lines = readFileSync(join(root, "corpus/books/valid.txt"), "utf8").split("\n").filter(Boolean);
  writeFileSync(join(folder, "texts.txt"), `${lines.slice(0, 400).join("\n")}\n`);
  const heads = {
    "train.conll": sentences(0, 8),
    "dev.conll": sentences(0, 8),
    "train.json": squad(0, 8),
    "dev.json": squad(0, 8),
  };
  const choiceLines = { "train.jsonl": choices(0, 8).join("\n"), "dev.jsonl": choices(0, 8).join("\n") };
  for (const [name, text] of Object.entries({ ...heads, ...choiceLines }))
    writeFileSync(join(folder, name), `${text}\n`);
  const commands = row.flatMap((page) => commandsOf(join(root, page)));

  it.each(commands)("$line", { timeout: 120_000 }, ({ line }) => {
    const [name = "", ...rest] = words(line.replace(/^(npx )?layerwise /, "").replace(/--minutes \S+/, ""));
    const args = [name, ...rest, ...words(small[name] ?? "")];
    const env = { ...process.env, LAYERWISE_CACHE: join(folder, "cache"), NO_COLOR: "1" };
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "bin/layerwise.js"), ...args], {
      cwd: folder,
      env,
      encoding: "utf8",
    });
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(status, stderr + stdout).toBe(0);
    if (shows[name]) expect(stdout).toMatch(shows[name]);
  });
});
