/** One input, one verdict: a parser may take it or refuse it in words, within a second and in memory that fits its size. */
import { getHeapStatistics } from "node:v8";
import { LayerwiseError } from "../../src/base/errors.ts";
import { RandomStream } from "../../src/base/random.ts";
import { inputOf, type Target } from "./targets.ts";

/** What is promised, per input. */
export const SECONDS = 1;
export const memoryFor = (bytes: number): number => 10 * bytes + 64 * 2 ** 20;

/** Something that is not promised. */
export interface Find {
  readonly target: string;
  readonly kind: "crash" | "slow" | "memory" | "hang";
  readonly what: string;
}

export interface Verdict {
  readonly refused: boolean;
  readonly find?: Find;
}

/** Reads one input and judges what came of it. */
export async function judge(target: Target, bytes: Uint8Array): Promise<Verdict> {
  const memory = external();
  const peak = process.resourceUsage().maxRSS;
  const cpu = process.cpuUsage();
  const error = await thrownBy(() => target.read(bytes));
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (user + system) / 1e6;
  const grown = Math.max(external() - memory, 1024 * (process.resourceUsage().maxRSS - peak));
  const refused = error instanceof LayerwiseError;
  const find = (kind: Find["kind"], what: string) => ({ refused, find: { target: target.name, kind, what } });
  if (error !== undefined && !refused) return find("crash", error instanceof Error ? `${error.stack}` : `${error}`);
  if (seconds > SECONDS) return find("slow", `${seconds.toFixed(2)} s for ${bytes.length} bytes`);
  if (grown > memoryFor(bytes.length)) return find("memory", `${grown} bytes of memory for ${bytes.length}`);
  return { refused };
}

const external = () => {
  const { used_heap_size, external_memory } = getHeapStatistics();
  return used_heap_size + external_memory;
};

async function thrownBy(work: () => unknown): Promise<unknown> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error ?? "nothing";
  }
}

/** Input `index` of a parser. */
export const inputNumber = (target: Target, seed: number, index: number): Uint8Array =>
  inputOf(target, new RandomStream(seed, `${target.name} ${index}`));
