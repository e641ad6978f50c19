/** A thread that tokenises: stretches of lines come in, their ids go out. */
import { parentPort, workerData } from "node:worker_threads";
import { LayerwiseError, messageOf } from "../../base/errors.ts";
import { linesOfStretch } from "../../files/lines.ts";
import { parted, sentenceEncoder, sentencesOf } from "../masked/documents.ts";
import { loadTokenizer } from "../tokenizer.ts";
import { type EncodedLines, joinIds, tokenize } from "../tokens.ts";
import type { EncodingOrder, EncodingReply, EncodingSetup } from "./encoding-pool.ts";

const { model, name, release, documents } = workerData as EncodingSetup;
const tokenizer = loadTokenizer(model, name, release);
const encodeSentence = documents && sentenceEncoder(tokenizer);
const port = parentPort!;

function encoded(lines: Iterable<string>, ends = false): EncodedLines {
  if (!encodeSentence) return tokenize(lines, tokenizer);
  const sentences = sentencesOf(documents.lineDocuments ? parted(lines) : lines, encodeSentence);
  return joinIds(ends ? [...sentences, []] : sentences, tokenizer.size);
}

function answer({ path, ends, ...stretch }: EncodingOrder): EncodingReply {
  try {
    return { encoded: encoded(linesOfStretch(stretch, path), ends) };
  } catch (error) {
    return error instanceof LayerwiseError ? { refused: error.toJSON() } : { failed: messageOf(error) };
  }
}

port.on("message", (order: EncodingOrder) => {
  const reply = answer(order);
  const { ids, lineEnds } = reply.encoded ?? {};
  port.postMessage(reply, ids && lineEnds ? [ids.buffer as ArrayBuffer, lineEnds.buffer as ArrayBuffer] : []);
});
tokenizer.encode(""); // its tries are built before there is work
port.postMessage("ready");
