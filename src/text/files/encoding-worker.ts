/** A thread that tokenises: stretches of lines come in, their ids go out. */
import { parentPort, workerData } from "node:worker_threads";
import { LayerwiseError, messageOf } from "../../base/errors.ts";
import { linesOfStretch } from "../../files/lines.ts";
import { loadTokenizer } from "../tokenizer.ts";
import { tokenize } from "../tokens.ts";
import type { EncodingOrder, EncodingReply, EncodingSetup } from "./encoding-pool.ts";

const { model, name, release } = workerData as EncodingSetup;
const tokenizer = loadTokenizer(model, name, release);
const port = parentPort!;

function answer({ path, ...stretch }: EncodingOrder): EncodingReply {
  try {
    return { encoded: tokenize(linesOfStretch(stretch, path), tokenizer) };
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
