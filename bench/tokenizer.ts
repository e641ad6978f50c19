/** The tokenizer against the real SentencePiece: encoding on one thread, and training 12,000 pieces on WikiText-2. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { saveModel, trainOnText } from "../src/text/files/sentencepiece.ts";
import { TRAINING_DEFAULTS } from "../src/text/sentencepiece/training/options.ts";
import { loadTokenizer, type Tokenizer } from "../src/text/tokenizer.ts";
import { type Bench, type BenchOptions, compare, interleave, type Measurement, timed } from "./measure.ts";
import { findPython, type Peer, pythonPeer, withFolder } from "./peer.ts";

const PEER = "sentencepiece";
const ENCODE_TARGET = 1;
const TRAIN_TARGET = 2;
/** Training takes seconds, so few rounds are enough. */
const TRAIN_ROUNDS = 3;

interface Files {
  model: string;
  valid: string;
  train: string;
}

/** WikiText-2 and a model for it, under LAYERWISE_DATA or beside the project. */
function findFiles(): Files | undefined {
  const beside = fileURLToPath(new URL("../../shared/data", import.meta.url));
  for (const folder of [process.env.LAYERWISE_DATA, beside]) {
    if (folder === undefined) continue;
    const model = join(folder, "tokenizers", "wiki2_12k.model");
    const [valid, train] = [join(folder, "wikitext-2", "valid.txt"), join(folder, "wikitext-2", "train.txt")];
    if ([model, valid, train].every((path) => existsSync(path))) return { model, valid, train };
  }
  return undefined;
}

function encodeAll(tokenizer: Tokenizer, lines: readonly string[]): number {
  let pieces = 0;
  for (const line of lines) pieces += tokenizer.encode(line).length;
  return pieces;
}

async function compareEncoding(peer: Peer, files: Files, { rounds, say }: BenchOptions): Promise<Measurement[]> {
  const bytes = readFileSync(files.model);
  const lines = readFileSync(files.valid, "utf8").split("\n");
  const known = loadTokenizer(bytes, files.model);
  const theirs = await peer.ask<{ pieces: number }>(`encode ${files.model}`);
  const ours = encodeAll(known, lines);
  if (ours !== theirs.pieces) throw new Error(`ours gave ${ours} pieces, the peer ${theirs.pieces}`);
  say(`${ours} pieces both`);
  const times = await interleave(
    {
      known: () => timed(() => encodeAll(known, lines)),
      fresh: () => {
        const tokenizer = loadTokenizer(bytes, files.model);
        tokenizer.encode("a"); // builds its tries, as the peer does when it loads
        return timed(() => encodeAll(tokenizer, lines));
      },
      peer: async () => (await peer.ask<{ ms: number }>(`encode ${files.model}`)).ms,
    },
    rounds,
  );
  const peerMs = times.get("peer")!;
  return [
    compare("tokenizer, encode words seen before", ENCODE_TARGET, times.get("known")!, PEER, peerMs),
    compare("tokenizer, encode with an empty cache", ENCODE_TARGET, times.get("fresh")!, PEER, peerMs),
  ];
}

async function compareTraining(peer: Peer, files: Files, options: BenchOptions): Promise<Measurement> {
  const training = { ...TRAINING_DEFAULTS, userSymbols: ["@-@"] };
  const times = await withFolder((folder) =>
    interleave(
      {
        ours: () => timed(async () => saveModel(await trainOnText([files.train], training), join(folder, "ours"))),
        peer: async () => (await peer.ask<{ ms: number }>(`train ${join(folder, "peer")} ${options.threads}`)).ms,
      },
      Math.min(options.rounds, TRAIN_ROUNDS),
    ),
  );
  const name = "tokenizer, train 12,000 pieces";
  return compare(name, TRAIN_TARGET, times.get("ours")!, `${PEER} on ${options.threads} threads`, times.get("peer")!);
}

/** Both comparisons; what is missing is named and left out. */
export const bench: Bench = async (options) => {
  const files = findFiles();
  const python = findPython(["sentencepiece"]);
  if (files === undefined) options.say("WikiText-2 and wiki2_12k.model are absent (set LAYERWISE_DATA); left out");
  if (python === undefined)
    options.say("SentencePiece is absent: pip install sentencepiece, and set LAYERWISE_PYTHON if it is not python3's");
  if (files === undefined || python === undefined) return [];
  const peer = pythonPeer(python, "sentencepiece_peer.py", [files.valid, files.train]);
  try {
    await peer.line();
    return [...(await compareEncoding(peer, files, options)), await compareTraining(peer, files, options)];
  } finally {
    peer.end();
  }
};
