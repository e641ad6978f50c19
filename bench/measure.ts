/** How claims are measured: interleaved rounds and their medians. */
import { setTimeout as sleep } from "node:timers/promises";

/** One row of the table; `ratio <= target` is the claim. */
export interface Measurement {
  name: string;
  ours_ms: number;
  peer: string;
  peer_ms: number;
  ratio: number;
  target: number;
  /** Where several runs were made: the lowest and the highest ratio, and how many runs. */
  spread?: Spread;
}

export interface Spread {
  low: number;
  high: number;
  runs: number;
}

/** Something beside times that a run finds out, such as memory; it stands in the table, not among the claims. */
export interface Fact {
  name: string;
  ours: string;
  peer: string;
  theirs: string;
  ratio: number;
  spread?: Spread;
}

export interface BenchOptions {
  /** Says what is going on; on standard error. */
  say: (text: string) => void;
  note: (fact: Fact) => void;
  rounds: number;
  threads: number;
  /** Processor time instead of time on the clock, where a bench can. */
  cpu: boolean;
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

/** Milliseconds of processor time, of all threads: what a busy machine still tells. */
export async function cpuTimed(work: () => unknown): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

export type Contender = () => Promise<number | number[]>;

/** Threads of ONNX Runtime and of OpenMP wait busily for tens of milliseconds after a run, and would take a core from the next. */
const PAUSE_MS = 100;

/** Runs all contenders in turn, round by round, with a pause between them, and gives each one's times in milliseconds. */
export async function interleave(
  contenders: Readonly<Record<string, Contender>>,
  rounds: number,
): Promise<Map<string, number[]>> {
  const times = new Map(Object.keys(contenders).map((name) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(contenders)) {
      await sleep(PAUSE_MS);
      times.get(name)!.push(...[await run()].flat());
    }
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
