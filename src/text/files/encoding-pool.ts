/** Tokenising on all cores: threads take stretches of lines in turn, and what they give comes in the order of the text. */
import { availableParallelism } from "node:os";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { type ErrorDetails, type ExitCode, LayerwiseError } from "../../base/errors.ts";
import type { LineStretch } from "../../files/lines.ts";
import type { Release } from "../sentencepiece/unigram.ts";
import type { EncodedLines } from "../tokens.ts";

/** What a thread is started with. */
export interface EncodingSetup {
  /** Bytes of a SentencePiece model. */
  readonly model: Uint8Array;
  readonly name: string;
  readonly release: Release;
  /** Lines are sentences of documents, each line a document of its own where it says so. */
  readonly documents?: DocumentReading | undefined;
}

/** How lines become documents. */
export interface DocumentReading {
  readonly lineDocuments: boolean;
}

/** Lines to tokenise, and the file that errors name. */
export interface EncodingOrder extends LineStretch {
  readonly path: string;
  /** A document ends with them, whatever comes next. */
  readonly ends?: boolean;
}

/** What a thread answers. */
export interface EncodingReply {
  readonly encoded?: EncodedLines;
  /** A complaint that is for the user. */
  readonly refused?: Record<string, unknown>;
  readonly failed?: string;
}

/** Orders that a thread has at a time: one it works on, and the next. */
const ORDERS = 2;
const MOST_THREADS = 16;

interface Waiting {
  resolve(encoded: EncodedLines): void;
  reject(error: Error): void;
}

/** A worker of the build or, in development, of its source, for which Node's threads need a loader. */
function workerWith(workerData: EncodingSetup): Worker {
  const extension = extname(import.meta.url);
  const file = new URL(`./encoding-worker${extension}`, import.meta.url);
  if (extension !== ".ts") return new Worker(file, { workerData });
  const loaded = `import("tsx/esm/api").then(({ register }) => (register(), import(${JSON.stringify(file.href)})))`;
  return new Worker(loaded, { workerData, eval: true, execArgv: [] });
}

/** One thread; it answers in the order it was asked. */
class EncodingThread {
  readonly #worker: Worker;
  readonly #waiting: Waiting[] = [];
  readonly ready: Promise<void>;

  constructor(setup: EncodingSetup) {
    this.#worker = workerWith(setup);
    this.ready = new Promise((resolve, reject) => {
      this.#worker.on("message", (message: "ready" | EncodingReply) =>
        message === "ready" ? resolve() : this.#answered(message),
      );
      this.#worker.on("error", (error) => {
        reject(error);
        for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
      });
    });
  }

  get orders(): number {
    return this.#waiting.length;
  }

  encode(order: EncodingOrder): Promise<EncodedLines> {
    this.#worker.postMessage(order, [order.bytes.buffer]);
    const encoded = new Promise<EncodedLines>((resolve, reject) => this.#waiting.push({ resolve, reject }));
    encoded.catch(() => {}); // it is heard of when its turn comes
    return encoded;
  }

  #answered({ encoded, refused, failed }: EncodingReply): void {
    const { resolve, reject } = this.#waiting.shift()!;
    if (encoded) resolve(encoded);
    else if (!refused) reject(new Error(failed));
    else reject(new LayerwiseError(`${refused.message}`, refused.exitCode as ExitCode, refused as ErrorDetails));
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}

/** Threads that tokenise, as many as the machine has cores; undefined where there is one core, or no thread can be started. */
export async function startEncoding(setup: EncodingSetup): Promise<EncodingPool | undefined> {
  const count = Math.min(availableParallelism(), MOST_THREADS);
  if (count < 2) return undefined;
  const threads: EncodingThread[] = [];
  try {
    for (let i = 0; i < count; i++) threads.push(new EncodingThread(setup));
    await Promise.all(threads.map(({ ready }) => ready));
    return new EncodingPool(threads);
  } catch {
    await Promise.all(threads.map((thread) => thread.end())); // a bundle without the thread's file, or a page
    return undefined;
  }
}

/** Threads at work. */
export class EncodingPool {
  readonly #threads: readonly EncodingThread[];

  constructor(threads: readonly EncodingThread[]) {
    this.#threads = threads;
  }

  /** The ids of stretches, in their order; the threads end with the last. */
  async *encode(orders: Iterable<EncodingOrder>): AsyncGenerator<EncodedLines> {
    const begun: Promise<EncodedLines>[] = [];
    try {
      for (const order of orders) {
        begun.push(this.#idlest().encode(order));
        if (begun.length === ORDERS * this.#threads.length) yield await begun.shift()!;
      }
      for (const encoded of begun) yield await encoded;
    } finally {
      await Promise.all(this.#threads.map((thread) => thread.end()));
    }
  }

  #idlest(): EncodingThread {
    return this.#threads.reduce((least, thread) => (thread.orders < least.orders ? thread : least));
  }
}
