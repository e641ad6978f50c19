/**
 * `npx tsx bench/queue.ts [--trials 30] [--workers 3] [--kills 20] [--unshared]`: a sweep on a queue whose workers are killed and whose Redis
 * restarts empty, against the same sweep in local processes. `--overhead 200`: what a trial costs on a queue beyond its process. Needs
 * redis-server and a build.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { RandomStream } from "../src/base/random.ts";
import { summarise, weightsHash } from "../src/runs/summary.ts";
import type { SweepResult } from "../src/sweep/index.ts";
import { flagsOf } from "./flags.ts";

const main = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

/** Whether Debian's redis-server, or Valkey's, is installed. */
export const redisCommand = ["redis-server", "valkey-server"].find(
  (name) => spawnSync(name, ["--version"]).error === undefined,
);

/** A Redis of one's own, empty, without a disk; `restart` kills it and starts it again, empty. */
export class OwnRedis {
  readonly port: number;
  readonly #options: readonly string[];
  #process: ChildProcess | undefined;

  private constructor(port: number, options: readonly string[]) {
    [this.port, this.#options] = [port, options];
  }

  static async start(...options: readonly string[]): Promise<OwnRedis> {
    const redis = new OwnRedis(await freePort(), options);
    await redis.#begin();
    return redis;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async #begin(): Promise<void> {
    const args = ["--port", `${this.port}`, "--save", "", "--appendonly", "no", "--dir", tmpdir(), ...this.#options];
    const child = spawn(redisCommand!, args, { stdio: ["ignore", "pipe", "ignore"] });
    this.#process = child;
    for await (const text of child.stdout) if (`${text}`.includes("Ready to accept")) break;
    child.stdout.destroy();
  }

  async restart(): Promise<void> {
    await this.stop();
    await setTimeout(1000);
    await this.#begin();
  }

  async stop(): Promise<void> {
    const child = this.#process!;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await ended;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A command that runs, with what it printed and said. */
interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  readonly printed: () => string;
  readonly said: () => string;
}

/** Starts `layerwise …`; `mark` finds it and its children again. */
export function start(args: readonly string[], mark: string): Running {
  const env = { ...process.env, LAYERWISE_BENCH: mark };
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  let [printed, said] = ["", ""];
  child.stdout.on("data", (text) => (printed += text));
  child.stderr.on("data", (text) => (said += text));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, ended, printed: () => printed, said: () => said };
}

/** Processes that carry a mark. Linux only. */
export function marked(mark: string): number[] {
  const isMarked = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "latin1").includes(`LAYERWISE_BENCH=${mark}`);
    } catch {
      return false; // it has ended
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && isMarked(name))
    .map(Number);
}

/** How much is tried, and what is done to it. */
export interface Trouble {
  /** Empty or new. */
  readonly folder: string;
  readonly trials: number;
  readonly steps: number;
  readonly workers: number;
  readonly kills: number;
  /** Workers do not see the sweep's folder. */
  readonly unshared?: boolean | undefined;
  readonly say?: ((text: string) => void) | undefined;
}

/** What came of it. */
export interface Verdict {
  readonly seconds: number;
  readonly kills: number;
  /** How often each trial ended for the launcher, by index. */
  readonly ends: readonly number[];
  /** How often each trial's run has ended, from its events. */
  readonly runEnds: readonly number[];
  /** Trials of which figures, statuses or weights differ from the local run. */
  readonly different: readonly number[];
  /** Processes left after the workers were told to end. */
  readonly orphans: number;
  readonly status: number | null;
  readonly said: string;
}

function writeSpec({ folder, trials, steps }: Pick<Trouble, "folder" | "trials" | "steps">): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "sweep.yaml");
  const seeds = trials % 3 === 0 ? 3 : 1;
  const rates = Array.from({ length: trials / seeds }, (_, i) => Number((0.0005 * (i + 1)).toFixed(6)));
  const settings = `{ steps: ${steps}, evaluateEvery: ${steps}, checkpointEvery: 10, threads: 1, width: 16, batch: 4 }`;
  writeFileSync(
    file,
    `task: language\npreset: tiny\nsettings: ${settings}\nvary: { rate: ${JSON.stringify(rates)} }\nseeds: ${seeds}\n`,
  );
  return file;
}

const trialsOf = ({ rows }: SweepResult) => rows.flatMap(({ trials }) => trials).sort((a, b) => a.index - b.index);

/** Runs the sweep locally and on the queue, and compares. */
export async function withTrouble(trouble: Trouble): Promise<Verdict> {
  const { folder, workers: count, say = () => {} } = trouble;
  const file = writeSpec(trouble);
  const [local, queued] = [join(folder, "local"), join(folder, "queue")];
  const mark = randomBytes(8).toString("hex");
  const redis = await OwnRedis.start();
  const began = performance.now();
  let begun = 0;
  // Machines without a shared folder have folders of their own: none knows what another has done.
  const own = () => (trouble.unshared ? ["--no-shared", "--folder", join(folder, `worker-${begun++}`)] : []);
  const begin = () => start(["worker", "--connect", redis.url, ...own()], mark);
  const workers = Array.from({ length: count }, begin);
  try {
    const launcher = start(["sweep", file, "--out", queued, "--on", redis.url, "--json"], mark);
    const kills = await killAtRandom(trouble, workers, begin, launcher, redis, queued);
    const status = await launcher.ended;
    const seconds = (performance.now() - began) / 1000;
    say(`the queue took ${seconds.toFixed(0)} s`);
    for (const { child } of workers) child.kill("SIGTERM");
    await Promise.all(workers.map(({ ended }) => ended));
    const orphans = await leftOf(mark);
    await start(["sweep", file, "--out", local, "--json"], mark).ended;
    return { seconds, kills, orphans, status, said: launcher.said(), ...(await compared(local, queued, launcher)) };
  } finally {
    for (const { child } of workers) child.kill("SIGKILL");
    await redis.stop();
  }
}

/** Kills workers that are at work until they were killed as often as asked; half-way Redis loses everything. */
async function killAtRandom(
  { kills, trials, say = () => {} }: Trouble,
  workers: Running[],
  begin: () => Running,
  launcher: Running,
  redis: OwnRedis,
  queued: string,
): Promise<number> {
  const random = new RandomStream(7, "kills");
  const isOver = () => launcher.child.exitCode !== null;
  const isUnderWay = () => endedIn(queued) > 0 || childrenOf(workers).length > 0;
  while (!isUnderWay() && !isOver()) await setTimeout(50);
  let killed = 0;
  while (killed < kills && !isOver()) {
    await setTimeout(300 + 1500 * random.uniform());
    if (endedIn(queued) < Math.floor((killed * trials) / (kills + 1))) continue; // they are spread over the sweep
    const busy = workers.filter((each) => childrenOf([each]).length > 0);
    const victim = busy[random.integer(Math.max(1, busy.length))];
    if (!victim || isOver()) continue;
    victim.child.kill("SIGKILL");
    workers.splice(workers.indexOf(victim), 1, begin());
    say(`kill ${++killed} of ${kills}, ${endedIn(queued)} trials have ended`);
    if (killed === Math.ceil(kills / 2)) {
      await redis.restart();
      say("Redis has restarted, empty");
    }
  }
  return killed;
}

const childrenOf = (workers: readonly Running[]): string[] =>
  workers.flatMap(({ child }) => {
    try {
      return readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").split(" ").filter(Boolean);
    } catch {
      return [];
    }
  });

function endedIn(path: string): number {
  try {
    return readdirSync(join(path, "runs")).filter((index) => endsOf(join(path, "runs", index)) > 0).length;
  } catch {
    return 0;
  }
}

/** How often the events of a run say that it has finished. */
function endsOf(run: string): number {
  try {
    const lines = readFileSync(join(run, "events.jsonl"), "utf8").split("\n");
    return lines.filter((line) => /"type":"end"/.test(line) && /"reason":"(steps|epochs|minutes|finished)"/.test(line))
      .length;
  } catch {
    return 0;
  }
}

/** Processes that are still there some seconds later. */
async function leftOf(mark: string): Promise<number> {
  for (let waited = 0; waited < 20_000 && marked(mark).length > 0; waited += 200) await setTimeout(200);
  return marked(mark).length;
}

async function compared(local: string, queued: string, launcher: Running) {
  const shown = async (path: string) => {
    const show = start(["sweep", "show", path, "--json"], "show");
    await show.ended;
    return trialsOf(JSON.parse(show.printed()) as SweepResult);
  };
  const [ours, theirs] = [await shown(queued), await shown(local)];
  const told = ({ run: _, ...rest }: object & { run: string }) => JSON.stringify(rest);
  const hash = async (run: string) => weightsHash(await summarise(run)).catch(() => "none");
  const different: number[] = [];
  for (const [i, trial] of theirs.entries()) {
    const same = told(trial) === told(ours[i]!) && (await hash(trial.run)) === (await hash(ours[i]!.run));
    if (!same || trial.status !== "finished") different.push(i);
  }
  const lines = launcher.said().split("\n");
  const ends = ours.map(({ index }) => lines.filter((line) => line.includes(`  ${index}: `)).length);
  return { different, ends, runEnds: ours.map(({ run }) => endsOf(run)) };
}

/** What a trial costs on a queue beyond its process, in seconds: the sweep as a whole, less what the worker says of its trials' processes. */
export async function overhead(
  folder: string,
  trials: number,
): Promise<Record<"sweep" | "processes" | "each", number>> {
  const file = writeSpec({ folder, trials, steps: 1 });
  const redis = await OwnRedis.start();
  const worker = start(["worker", "--connect", redis.url], "overhead");
  try {
    while (!worker.said().includes("Ctrl-C")) await setTimeout(50);
    const began = performance.now();
    const status = await start(["sweep", file, "--out", join(folder, "queue"), "--on", redis.url], "overhead").ended;
    const sweep = (performance.now() - began) / 1000;
    const seconds = [...worker.said().matchAll(/: ended, ([\d.]+) s/g)].map(([, text]) => Number(text));
    if (status !== 0 || seconds.length !== trials) throw new Error(`${seconds.length} trials ended, status ${status}`);
    const processes = seconds.reduce((a, b) => a + b, 0);
    return { sweep, processes, each: (sweep - processes) / trials };
  } finally {
    worker.child.kill("SIGTERM");
    await worker.ended;
    await redis.stop();
  }
}

async function run(): Promise<void> {
  const { values } = flagsOf({
    trials: "30",
    steps: "60",
    workers: "3",
    kills: "20",
    unshared: false,
    overhead: undefined,
    out: join(tmpdir(), "layerwise-queue"),
  });
  if (!redisCommand) throw new Error("redis-server is not installed");
  rmSync(values.out, { recursive: true, force: true });
  const say = (text: string) => void process.stderr.write(`${text}\n`);
  const found =
    values.overhead === undefined
      ? await withTrouble({
          folder: values.out,
          trials: Number(values.trials),
          steps: Number(values.steps),
          workers: Number(values.workers),
          kills: Number(values.kills),
          unshared: values.unshared,
          say,
        })
      : await overhead(values.out, Number(values.overhead));
  process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await run();
