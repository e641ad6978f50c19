/** Real runs of every kind for tests of the studio, as small as they can be, two at a time. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const MAIN = "dist/cli/main.js";
const DATA = "fixtures/runs/data";
const small =
  "--pieces 300 --width 16 --heads 2 --feed-forward 32 --blocks 3 --memory 4 --batch 4 --length 8 --cutoffs 40,120";

/** Tests of the built page need it. */
export const isBuilt = existsSync(MAIN) && existsSync("dist/studio/page/index.html");

/** A search whose π moves, without its length and place. */
export const searching = `search ${small} --threads 1 --evaluate-every 4 --warmup 2 --architecture-rate 0.1`;

const tiny = "--preset tiny --threads 1 --evaluate-every 4";
const translation = `train --task translate --corpus ${DATA}/pairs --pieces 54 --width 32 --heads 2 --feed-forward 64 --depth 2 --dropout 0`;
const labels = "--width 16 --embedding 8 --heads 2 --depth 2 --length 24 --threads 1 --epochs 2 --batch 8 --rate 0.01";

/** Commands by the names of their runs. */
const RUNS: Readonly<Record<string, string>> = {
  search: `${searching} --steps 40 --seeds 2`,
  translator: `${translation} --length 32 --batch 8 --steps 60 --warmup 10 --rate 0.005 --evaluate-every 60 --threads 1`,
  shared: `train ${tiny} --steps 24 --depth 4 --unique 2`,
  halting: `train ${tiny} --steps 12 --depth 4 --halt`,
  albert: "pretrain --preset trial --threads 1 --steps 6",
  labels: `glue SST-2 --scratch --glue GLUE --tokenizer ${DATA}/tokenizer.model --halt --pooling mean ${labels}`,
};

/** A command of the built package as a process. */
export function begin(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], { stdio: ["pipe", "pipe", "pipe"] });
}

/** Runs a command to its end; gives what it printed. */
export async function layerwise(args: readonly string[], input = ""): Promise<string> {
  const child = begin(...args);
  let [out, said] = ["", ""];
  child.stdout!.on("data", (text: Buffer) => (out = `${out}${text}`));
  child.stderr!.on("data", (text: Buffer) => (said = `${said}${text}`));
  child.stdin!.end(input);
  const [code] = (await once(child, "close")) as [number];
  if (code !== 0) throw new Error(`layerwise ${args.join(" ")} ended with ${code}: ${said}`);
  return out;
}

/** Sentences of the test split of SST-2 that is made here. */
export const UNLABELLED = ["the film with good people", "a dull story", "lovely music a film"];

/** GLUE's folder with a test split, which the fixtures lack. */
function makeGlue(folder: string): string {
  const place = join(folder, "glue", "SST-2");
  mkdirSync(place, { recursive: true });
  for (const part of ["train", "dev"])
    copyFileSync(join(DATA, "glue/SST-2", `${part}.tsv`), join(place, `${part}.tsv`));
  writeFileSync(join(place, "test.tsv"), `index\tsentence\n${UNLABELLED.map((text, i) => `${i}\t${text}\n`).join("")}`);
  return join(folder, "glue");
}

/** Makes all runs below `runs`, and a folder that is damaged. */
export async function makeRuns(folder: string, runs: string): Promise<void> {
  const glue = makeGlue(folder);
  const left = Object.entries(RUNS);
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [name, line] = next;
      await layerwise([...line.replace("GLUE", resolve(glue)).split(" "), "--out", join(runs, name)]);
    }
  };
  await Promise.all([work(), work()]);
  mkdirSync(join(runs, "damaged"));
  writeFileSync(join(runs, "damaged", "config.yaml"), "task: [unclosed");
}
