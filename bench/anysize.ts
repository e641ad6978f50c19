/**
 * Text of any size: a text of gigabytes is made, tokenised, trained on, killed and resumed, each in a process of its own, and what that took
 * is printed. A text that is there is not made again, nor are tokens: `npx tsx bench/anysize.ts --folder DIR [--gigabytes 2]`, then delete DIR.
 */
import { spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { messageOf } from "../src/base/errors.ts";
import { table } from "../src/base/table.ts";
import { languageJob, openLanguage } from "../src/tasks/language/job.ts";
import { languageSettings } from "../src/tasks/language/settings.ts";
import { SPLITS } from "../src/text/corpus.ts";
import { openCorpus } from "../src/text/files/corpus.ts";
import { openTokens } from "../src/text/files/tokens.ts";
import { chooseTokenizer } from "../src/text/files/trained-tokenizer.ts";

const STEPS = 40;
/** The books repeat their words: they support no more. */
const pieces = 8000;
const KILLED_AT = 10;
const BLOCK = 1 << 22;

/** What a process took. */
interface Taken {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Most resident memory. */
  readonly residentMb: number;
}

/** A text of so many bytes: the books over and over, a word in most lines exchanged for another, and one in a hundred made up. */
export function makeText(path: string, bytes: number): void {
  const lines = readFileSync("corpus/books/train.txt", "utf8").split("\n");
  const words = lines.flatMap((line) => line.split(" ").filter((word) => word.length > 2));
  let state = 1;
  const draw = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const made = () => Array.from({ length: 2 + draw(3) }, () => "bcdfglmnprst"[draw(12)]! + "aeiou"[draw(5)]!).join("");
  const changed = (line: string) => {
    const at = line.indexOf(" ", draw(line.length + 1));
    if (at < 0) return line;
    return `${line.slice(0, at)} ${draw(100) === 0 ? made() : words[draw(words.length)]!}${line.slice(at)}`;
  };
  const temporary = `${path}.part`;
  const file = openSync(temporary, "w");
  let [written, block, index] = [0, "", 0];
  while (written < bytes) {
    block += `${changed(lines[index++ % lines.length]!)}\n`;
    if (block.length < BLOCK) continue;
    written += writeSync(file, block);
    block = "";
  }
  closeSync(file);
  renameSync(temporary, path);
}

/** What is done in processes of their own. */
const phases: Readonly<Record<string, (text: string) => Promise<Record<string, unknown>>>> = {
  async tokenizer(text) {
    const said: string[] = [];
    await chooseTokenizer(undefined, await openCorpus(text), { pieces, say: (message) => said.push(message) });
    return { said };
  },
  async build(text) {
    const corpus = await openCorpus(text);
    const tokenizer = await chooseTokenizer(undefined, corpus, { pieces });
    const from = performance.now();
    let tokens = 0;
    for (const split of SPLITS) tokens += (await openTokens(corpus, split, tokenizer)).ids.length;
    return { tokens, tokenising: (performance.now() - from) / 1000 };
  },
  async start(text) {
    const from = performance.now();
    await languageJob(
      await openLanguage(languageSettings.resolve([{ source: "bench", values: { ...small, pieces, corpus: text } }])),
    );
    return { opening: (performance.now() - from) / 1000 };
  },
};

/** A small model, so that most of the memory is not its. */
const small = { width: 64, heads: 2, depth: 2, batch: 16, length: 128, threads: 1, evaluateTokens: 20_000 };
const flags = Object.entries(small).flatMap(([name, value]) => [
  `--${name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`,
  `${value}`,
]);
const training = [
  ...flags,
  "--steps",
  `${STEPS}`,
  "--checkpoint-every",
  `${KILLED_AT}`,
  "--evaluate-every",
  "20",
  "--minutes",
  "none",
];

/** Runs a process to its end, or until `killed` says so, and watches its memory. */
async function run(
  args: readonly string[],
  cache: string,
  killed?: () => boolean,
): Promise<Taken & { stdout: string }> {
  const from = performance.now();
  const env = { ...process.env, LAYERWISE_CACHE: cache };
  const child = spawn(process.execPath, ["--import", "tsx", ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr, residentMb, cpuSeconds, stopped] = ["", "", 0, 0, false];
  child.stdout.on("data", (text) => (stdout += text));
  child.stderr.on("data", (text) => (stderr += text));
  const watch = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      residentMb = Math.max(residentMb, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1000);
      const fields = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1]!.split(" ");
      cpuSeconds = (Number(fields[11]) + Number(fields[12])) / 100;
    } catch {
      // It has ended.
    }
    if (killed?.()) stopped = child.kill("SIGKILL");
  }, 50);
  const code = await new Promise((resolve) => child.on("close", resolve));
  clearInterval(watch);
  if (code !== 0 && !stopped) throw new Error(`${args.join(" ")} ended with ${code}: ${stderr}`);
  return { seconds: (performance.now() - from) / 1000, cpuSeconds, residentMb, stdout };
}

const own = fileURLToPath(import.meta.url);
const command = "src/cli/main.ts";

/** Step losses and evaluations of a run, without times. */
const lossesOf = (path: string) =>
  readFileSync(join(path, "events.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === "step" || type === "evaluation")
    .map(({ type, step, loss, gradientNorm }) => `${type} ${step} ${loss} ${gradientNorm}`);

async function main(folder: string, gigabytes: number): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const [text, cache] = [join(folder, "text.txt"), join(folder, "cache")];
  const bytes = gigabytes * 1e9;
  if (!existsSync(text) || statSync(text).size < bytes) makeText(text, bytes);
  const megabytes = statSync(text).size / 1e6;
  const rows: Record<string, string>[] = [];
  const note = (what: string, { seconds, cpuSeconds, residentMb }: Taken, remark = "") => {
    rows.push({
      what,
      seconds: seconds.toFixed(1),
      "CPU seconds": cpuSeconds.toFixed(1),
      "resident MB": residentMb.toFixed(0),
      remark,
    });
    console.log(
      `${what}: ${seconds.toFixed(1)} s, CPU ${cpuSeconds.toFixed(1)} s, ${residentMb.toFixed(0)} MB ${remark}`,
    );
  };
  const phase = async (name: string) => {
    const taken = await run([own, "--phase", name, "--folder", folder], cache);
    return { ...taken, found: JSON.parse(taken.stdout.trim().split("\n").at(-1)!) as Record<string, unknown> };
  };

  const trained = await phase("tokenizer");
  note("train the tokenizer", trained, `${(trained.found.said as string[]).join()}`);
  const built = await phase("build");
  const rate = megabytes / Number(built.found.tokenising);
  note(
    "build",
    built,
    `${megabytes.toFixed(0)} MB, ${rate.toFixed(1)} MB/s, ${((1000 * built.cpuSeconds) / megabytes).toFixed(1)} ms CPU per MB`,
  );
  const started = await phase("start");
  note("start again", started, `text, tokens and model open after ${Number(started.found.opening).toFixed(2)} s`);

  const [straight, killed, little] = ["straight", "killed", "little"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [straight, killed, little]) rmSync(path, { recursive: true, force: true });
  const beginning = join(folder, "beginning.txt");
  writeFileSync(beginning, readFileSync("corpus/books/train.txt"));
  const model = tokenizerFile(cache);
  const train = (corpus: string, out: string, until?: () => boolean) =>
    run([command, "train", "--corpus", corpus, "--tokenizer", model, ...training, "--out", out], cache, until);
  const base = await train(beginning, little);
  note("train on 1 MB", base);
  const whole = await train(text, straight);
  note("train", whole, `${(whole.residentMb - base.residentMb).toFixed(0)} MB more than on 1 MB`);
  await train(text, killed, () => existsSync(join(killed, "checkpoints", `step-${`${KILLED_AT}`.padStart(8, "0")}`)));
  const resumed = await run([command, "resume", killed], cache);
  const same = `${lossesOf(killed)}` === `${lossesOf(straight)}`;
  note("resume after a kill", resumed, same ? "all losses the same bits" : "LOSSES DIFFER");
  console.log(table(rows));
  if (!same) process.exitCode = 1;
}

/** The tokenizer that the text got. */
function tokenizerFile(cache: string): string {
  return join(cache, "tokenizers", readdirSync(join(cache, "tokenizers")).find((name) => name.endsWith(".model"))!);
}

const { values } = parseArgs({
  options: { folder: { type: "string" }, gigabytes: { type: "string", default: "2" }, phase: { type: "string" } },
});
try {
  if (values.folder === undefined) throw new Error("say with --folder DIR where gigabytes may be written");
  const folder = resolve(values.folder);
  if (values.phase === undefined) await main(folder, Number(values.gigabytes));
  else console.log(JSON.stringify(await phases[values.phase]!(join(folder, "text.txt"))));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
