/** Peak resident memory of the language model's training step: ours and PyTorch's, each in a fresh process. */
import { config } from "./language-model.ts";
import type { Bench } from "./measure.ts";
import { admitted, nodePeer, type Peer, pythonPeer, torchPython } from "./peer.ts";

const STEPS = 5;

/** Megabytes at the most, some steps after the start. */
async function peakOf(name: string, peer: Peer, say: (text: string) => void): Promise<number | undefined> {
  if (!(await admitted(name, peer, say))) return undefined;
  await peer.ask<number[]>(`step ${STEPS}`);
  const megabytes = await peer.ask<number>("memory");
  peer.end();
  return megabytes;
}

export const bench: Bench = async ({ say, note, threads }) => {
  const python = torchPython(say);
  if (!python) return [];
  const ours = await peakOf("layerwise", nodePeer("layerwise_language_model.ts", [String(threads)]), say);
  const args = ["--config", JSON.stringify(config), "--threads", String(threads)];
  const theirs = await peakOf("PyTorch", pythonPeer(python, "torch_language_model.py", args), say);
  if (ours === undefined || theirs === undefined) return [];
  const text = (megabytes: number) => `${Math.round(megabytes)} MB`;
  const name = "language model, training step, peak memory of the process";
  note({ name, ours: text(ours), peer: "PyTorch eager", theirs: text(theirs), ratio: ours / theirs });
  return [];
};
