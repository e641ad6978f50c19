/** Peers: other implementations, each in a process of its own that answers a line of JSON to every line. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { messageOf } from "../src/base/errors.ts";
import { type TensorRecord, writeSafetensors } from "../src/format/safetensors.ts";
import type { Weights } from "../src/model/language/language.ts";
import { type Contender, interleave } from "./measure.ts";

type Say = (text: string) => void;

export class Peer {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #reader: Interface;
  #complaints = "";

  constructor([program, ...args]: readonly [string, ...string[]]) {
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
    this.#reader = createInterface({ input: this.#child.stdout! });
    this.#lines = this.#reader[Symbol.asyncIterator]();
    this.#child.stderr!.on("data", (text) => {
      this.#complaints = (this.#complaints + text).slice(-2000);
    });
    this.#child.stdin!.on("error", () => {}); // a peer that has ended: the next line tells
  }

  /** The next line; fails when the peer has ended. */
  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`the peer ended early: ${lastComplaint(this.#complaints)}`);
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

/** The line that names an error, where one does: Node prints its version below it. */
function lastComplaint(text: string): string {
  const lines = text.trim().split("\n");
  return lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1)!;
}

const scriptNamed = (name: string) => fileURLToPath(new URL(`peers/${name}`, import.meta.url));

/** A script of bench/peers in Python. */
export const pythonPeer = (python: string, script: string, args: readonly string[]) =>
  new Peer([python, scriptNamed(script), ...args]);

/** A script of bench/peers in Node, which may import TypeScript. */
export const nodePeer = (script: string, args: readonly string[]) =>
  new Peer([process.execPath, "--import", import.meta.resolve("tsx"), scriptNamed(script), ...args]);

/** The peer once it is ready and has passed the check; where it fails, a word about why. */
export async function admitted(
  name: string,
  peer: Peer,
  say: Say,
  check: (peer: Peer) => Promise<void> = async () => {},
): Promise<Peer | undefined> {
  try {
    say(`starting ${name}`);
    await peer.line();
    await check(peer);
    return peer;
  } catch (error) {
    say(`${name} is left out: ${messageOf(error)}`);
    peer.end();
    return undefined;
  }
}

/** Single precision, a few layers, a loss of order 1 to 10. */
const LOSS_TOLERANCE = 1e-4;

/** The check that a peer does the same work: the same loss from the same weights. */
export function sameLoss(ours: number): (peer: Peer) => Promise<void> {
  return async (peer) => {
    const theirs = await peer.ask<number>("loss");
    if (!(Math.abs(theirs - ours) <= LOSS_TOLERANCE)) throw new Error(`its loss is ${theirs}, ours ${ours}`);
  };
}

/** The first Python that imports the modules: LAYERWISE_PYTHON, python3, python. */
export function findPython(modules: readonly string[]): string | undefined {
  const candidates = [process.env.LAYERWISE_PYTHON, "python3", "python"].filter((each) => each !== undefined);
  return candidates.find((python) => spawnSync(python, ["-c", `import ${modules.join(", ")}`]).status === 0);
}

/** A Python with PyTorch, or a word about how to install it. */
export function torchPython(say: Say): string | undefined {
  const python = findPython(["torch", "numpy", "safetensors"]);
  if (!python) {
    say(
      "PyTorch is absent: pip install torch==2.13.0 numpy safetensors, and set LAYERWISE_PYTHON if it is not python3's",
    );
  }
  return python;
}

/** The folder of npm packages that LAYERWISE_PEERS names, where it holds these; otherwise a word about how to install them. */
export function packageFolder(name: string, packages: readonly string[], say: Say): string | undefined {
  const folder = process.env.LAYERWISE_PEERS;
  const bare = packages.map((each) => each.replace(/(?<=.)@[^@/]*$/, ""));
  if (folder && bare.every((each) => existsSync(join(folder, "node_modules", each)))) return resolve(folder);
  say(`${name} is absent: npm install --prefix DIR ${packages.join(" ")}, and set LAYERWISE_PEERS=DIR`);
  return undefined;
}

/** A model's weights, ready for a file. */
export function recordsOf(weights: Weights): Map<string, TensorRecord> {
  return new Map(
    [...weights].map(([{ attributes }, data]) => [attributes.name, { dtype: "F32", shape: attributes.shape, data }]),
  );
}

/** Hands over the path of a temporary safetensors file. */
export async function withTensors<T>(
  tensors: ReadonlyMap<string, TensorRecord>,
  use: (path: string) => Promise<T>,
): Promise<T> {
  return withFolder((folder) => {
    const path = join(folder, "weights.safetensors");
    writeFileSync(path, writeSafetensors(tensors));
    return use(path);
  });
}

/** Hands over the path of a temporary folder. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "layerwise-bench-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const torchModes = { "PyTorch eager": [], "torch.compile": ["--compile"] } as const;

export interface TorchSteps {
  /** A script of bench/peers that takes --config, --weights, --threads and, but for eager mode alone, --compile. */
  script: string;
  config: object;
  tensors: ReadonlyMap<string, TensorRecord>;
  /** Ours, from these tensors. */
  loss: number;
  threads: number;
  say: Say;
  modes?: readonly (keyof typeof torchModes)[];
}

/** The same training step in PyTorch, one peer a mode, where it is there and finds the same loss. */
export async function torchSteps(options: TorchSteps): Promise<Map<string, Peer>> {
  const { script, config, tensors, loss, threads, say, modes = ["PyTorch eager", "torch.compile"] } = options;
  const peers = new Map<string, Peer>();
  const python = torchPython(say);
  if (!python) return peers;
  await withTensors(tensors, async (path) => {
    const args = ["--config", JSON.stringify(config), "--weights", path, "--threads", String(threads)];
    for (const mode of modes) {
      const started = pythonPeer(python, script, [...args, ...torchModes[mode]]);
      const peer = await admitted(mode, started, say, sameLoss(loss));
      if (peer) peers.set(mode, peer);
    }
  });
  return peers;
}

/** The second of two runs: as in training, a step finds threads awake and its own data in the cache. */
const secondOf =
  (run: Contender): Contender =>
  async () => {
    await run();
    return run();
  };

/** Rounds of all contenders and of a step of every peer, each after one that is not timed; then the peers end. */
export async function raceSteps(
  contenders: Readonly<Record<string, Contender>>,
  peers: ReadonlyMap<string, Peer>,
  rounds: number,
): Promise<Map<string, number[]>> {
  const steps = [...peers].map(([name, peer]): [string, Contender] => [name, () => peer.ask<number[]>("step 1")]);
  const all = Object.fromEntries([...Object.entries(contenders), ...steps].map(([name, run]) => [name, secondOf(run)]));
  await interleave(all, 3); // warm-up
  const times = await interleave(all, rounds);
  for (const peer of peers.values()) peer.end();
  return times;
}
