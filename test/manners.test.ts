/** One manner for all commands that train or write: what is trained stands first, what to do next stands last. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder } from "./command.ts";

const folder = ownFolder("manners");
const at = (name: string) => join(folder, name);
const env = { ...process.env, LAYERWISE_CACHE: at("cache"), npm_lifecycle_event: "" };

function run(words: string) {
  const args = ["dist/cli/main.js", ...words.split(" ").map((word) => word.replace(/^@/, `${folder}/`))];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
  return { status, stdout, shown: `${stderr}\n${stdout}` };
}

const tiny = "--pieces 300 --width 16 --heads 2 --steps 2 --threads 1";
const search = `${tiny} --blocks 2 --feed-forward 32 --memory 4 --batch 4 --length 8 --evaluate-every 2`;

/** Commands that train: with what row of their header the model is described. In this order: some use what others leave. */
const training: readonly (readonly [string, RegExp])[] = [
  [`train --preset tiny ${tiny} --out @language`, /^plan +0 1$/m],
  ["pretrain --preset trial --steps 2 --threads 1 --out @albert", /^distinct parameters +/m],
  [`search ${search} --evaluation-batch 16 --evaluation-length 32 --out @search`, /^blocks +2, each of attention/m],
  ["retrain @search --steps 2 --out @found", /^blocks +\S+$/m],
  ["finetune @albert --train @train.tsv --dev @dev.tsv --epochs 1 --threads 1 --out @tuned", /^distinct parameters +/m],
  ["resume @language --steps 4", /^plan +0 1$/m],
];

/** Others that write something which a further command takes. */
const writing = [
  "tokenizer train --input @text.txt --out @own --vocabulary 27",
  "data build --corpus books --tokenizer @own.model --out @built --batch 4 --length 8",
  `latency ${search} --out @costs.json`,
  "import @language/huggingface --out @back",
  "sweep @sweep.yaml --on local:1 --out @sweep",
];

describe("a command", () => {
  beforeAll(() => {
    mkdirSync(folder, { recursive: true });
    const rows = ["text\tlabel", ...Array.from({ length: 8 }, (_, i) => `a ${i % 2 ? "good" : "bad"} film\t${i % 2}`)];
    for (const name of ["train.tsv", "dev.tsv"]) writeFileSync(at(name), `${rows.join("\n")}\n`);
    writeFileSync(at("text.txt"), "the ships sailed by the moons of the sea\n".repeat(50));
    const trial =
      "task: language\npreset: tiny\nsettings: { pieces: 300, steps: 2, threads: 1 }\nvary: { width: [16] }\n";
    writeFileSync(at("sweep.yaml"), trial);
  });

  it.each(training)(
    "that trains begins with its header and ends with what is next: %s",
    (words, model) => {
      const { status, shown } = run(words);
      expect([status, status === 0 ? "" : shown]).toEqual([0, ""]);
      for (const row of [
        /^(corpus|pairs|text|texts|task) +\S/m,
        /^distinct parameters +\S/m,
        model,
        /^length +4? ?\S.* updates/m,
      ])
        expect(shown).toMatch(row);
      expect(shown).toMatch(/^next:\n( {2}layerwise \S.*\n?)+$/m);
    },
    120_000,
  );

  it.each(writing)(
    "that writes ends with what is next: %s",
    (words) => {
      if (words.startsWith("import")) run("export @language --format huggingface");
      const { status, shown } = run(words);
      expect([status, status === 0 ? "" : shown]).toEqual([0, ""]);
      expect(shown).toMatch(/^next:\n( {2}layerwise \S.*\n?)+/m);
    },
    120_000,
  );

  it("that prints JSON prints nothing else, and draws no progress", () => {
    const { stdout, shown } = run(`train --preset tiny ${tiny} --json --out @json`);
    expect(JSON.parse(stdout)).toMatchObject({ run: at("json"), steps: 2 });
    expect(shown).not.toContain("\x1b");
    expect(shown).not.toContain("next:");
  }, 120_000);
});
