/** How claims are measured: interleaved rounds, medians, and peers that speak over a pipe. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";

/** One row of the table; `ratio <= target` is the claim. */
export interface Measurement {
  name: string;
  ours_ms: number;
  peer: string;
  peer_ms: number;
  ratio: number;
  target: number;
}

export interface BenchOptions {
  /** Says what is going on; on standard error. */
  say: (text: string) => void;
  rounds: number;
  threads: number;
}

export type Bench = (options: BenchOptions) => Promise<Measurement[]>;

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export type Contender = () => Promise<number | number[]>;

/** Runs all contenders in turn, round by round, and gives each one's times in milliseconds. */
export async function interleave(
  contenders: Readonly<Record<string, Contender>>,
  rounds: number,
): Promise<Map<string, number[]>> {
  const times = new Map(Object.keys(contenders).map((name) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(contenders)) times.get(name)!.push(...[await run()].flat());
  }
  return times;
}

export function compare(
  name: string,
  target: number,
  ours: readonly number[],
  peer: string,
  theirs: readonly number[],
): Measurement {
  const [ours_ms, peer_ms] = [median(ours), median(theirs)];
  return { name, ours_ms, peer, peer_ms, ratio: ours_ms / peer_ms, target };
}

/** The first Python that imports the modules: LAYERWISE_PYTHON, python3, python. */
export function findPython(modules: readonly string[]): string | undefined {
  const candidates = [process.env.LAYERWISE_PYTHON, "python3", "python"].filter((each) => each !== undefined);
  return candidates.find((python) => spawnSync(python, ["-c", `import ${modules.join(", ")}`]).status === 0);
}

/** A Python script in bench/peers that answers one line to each line. */
export class PythonPeer {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #reader: Interface;
  #complaints = "";

  constructor(python: string, script: string, args: readonly string[]) {
    const path = fileURLToPath(new URL(`peers/${script}`, import.meta.url));
    this.#child = spawn(python, [path, ...args], { stdio: ["pipe", "pipe", "pipe"] });
    this.#reader = createInterface({ input: this.#child.stdout! });
    this.#lines = this.#reader[Symbol.asyncIterator]();
    this.#child.stderr!.on("data", (text) => {
      this.#complaints = (this.#complaints + text).slice(-2000);
    });
  }

  /** The next line; fails when the peer has ended. */
  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`the peer ended early: ${this.#complaints.trim().split("\n").at(-1)}`);
    return value;
  }

  async ask<T>(command: string): Promise<T> {
    this.#child.stdin!.write(`${command}\n`);
    return JSON.parse(await this.line());
  }

  end(): void {
    this.#child.stdin!.end("quit\n");
    this.#reader.close();
    this.#child.kill();
  }
}
