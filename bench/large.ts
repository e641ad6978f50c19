/** The shape of GPT-2 small, and the same with three blocks shared over twelve depths: step and peak memory against PyTorch, and recomputed. */
import type { ModelConfig } from "./language-model.ts";
import { type Bench, type BenchOptions, compare, interleave, type Measurement, median } from "./measure.ts";
import { admitted, nodePeer, type Peer, pythonPeer, torchPython } from "./peer.ts";
import { floor } from "./products.ts";

const depths = Array.from({ length: 12 }, (_, i) => i);
const sizes = { vocabulary: 32_000, width: 768, heads: 12, hidden: 3072, length: 512, dropout: 0, batch: 4 };
const shapes: Readonly<Record<string, ModelConfig>> = {
  "GPT-2 small": { ...sizes, plan: depths },
  "GPT-2 small, shared 3/12": { ...sizes, plan: depths.map((depth) => depth % 3) },
};
/** Of PyTorch's time, and of its memory. */
const TARGET = 0.8;
/** What computing again may take: of the time of keeping, and of its memory. */
const AGAIN = { time: 1.35, memory: 0.5 };
/** Before the first that counts: memory is allocated by then. */
const WARM_UP = 2;
/** Steps take seconds. */
const MOST_ROUNDS = 5;

/** Times of steps, one side after the other, each alone in memory and in a process of its own; and the most megabytes of each. */
async function race(name: string, config: ModelConfig, { say, rounds, threads, note }: BenchOptions) {
  const python = torchPython(say);
  const given = ["--config", JSON.stringify(config), "--threads", String(threads)];
  const ours = (recompute: boolean, ...what: string[]) =>
    nodePeer("layerwise_language_model.ts", [String(threads), JSON.stringify({ ...config, recompute }), ...what]);
  const starts: Record<string, () => Peer> = {
    ours: () => ours(false),
    again: () => ours(true),
    products: () => ours(false, "products"),
  };
  if (python) starts["PyTorch eager"] = () => pythonPeer(python, "torch_language_model.py", given);
  const peers = new Map<string, Peer>();
  for (const [each, start] of Object.entries(starts)) {
    const peer = await admitted(`${each}, ${name}`, start(), say);
    if (peer) peers.set(each, peer);
  }
  const steps = Object.fromEntries([...peers].map(([each, peer]) => [each, () => peer.ask<number[]>("step 1")]));
  await interleave(steps, WARM_UP);
  const times = await interleave(steps, Math.min(rounds, MOST_ROUNDS));
  const peaks = new Map<string, number>();
  for (const [each, peer] of peers) {
    peaks.set(each, await peer.ask<number>("memory"));
    peer.end();
  }
  const text = (megabytes: number) => `${Math.round(megabytes)} MB`;
  const remember = (side: string, peer: string, label: string) => {
    const [mine, theirs] = [peaks.get(side), peaks.get(peer)];
    if (mine === undefined || theirs === undefined) return;
    note({ name: `${name}, ${label}`, ours: text(mine), peer, theirs: text(theirs), ratio: mine / theirs });
  };
  remember("ours", "PyTorch eager", `peak memory of training (target ${TARGET})`);
  remember("again", "PyTorch eager", "peak memory of training that recomputes");
  remember("again", "ours", `peak memory of training that recomputes (target ${AGAIN.memory})`);
  return times;
}

export const bench: Bench = async (options) => {
  const found: Measurement[] = [];
  for (const [name, config] of Object.entries(shapes)) {
    const times = await race(name, config, options);
    const mine = times.get("ours")!;
    options.say(`${name}: ${Math.round(median(mine))} ms a step`);
    const theirs = times.get("PyTorch eager");
    const title = `${name}, training step`;
    if (theirs) {
      const products = times.get("products");
      if (products) options.note(floor(title, products, "PyTorch eager", theirs));
      found.push(compare(title, TARGET, mine, "PyTorch eager", theirs));
    }
    found.push(compare(`${title} that recomputes`, AGAIN.time, times.get("again")!, "without", mine));
  }
  return found;
};
