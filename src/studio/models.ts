/** Runs in use: opened when they are first asked, a few at a time, on one engine, one question after another. */

import { type AnyRun, defaultEngine, type EngineSettings, Run } from "../tasks/index.ts";
import { causalKinds, causalTags } from "../tasks/language/depth-tables.ts";
import { traceOf } from "../tasks/pretrain/index.ts";
import { parseConllu } from "../text/probing/conllu.ts";
import type {
  ClassifyAnswer,
  ClassifyRequest,
  DepthAnswer,
  DepthTableRequest,
  DepthTables,
  FillAnswer,
  FillRequest,
  GenerateLine,
  GenerateRequest,
  TranslateAnswer,
  TranslateRequest,
} from "./api.ts";
import { Refusal } from "./refusal.ts";
import type { Entry } from "./run-index.ts";

/** Texts that a table is made of. */
const TEXTS = 64;

/** Models that stay open. */
const MOST = 3;

type Engine = Awaited<ReturnType<typeof defaultEngine>>;
type Writing = Extract<AnyRun, { writer: unknown }>;
type Writer = Awaited<ReturnType<Writing["writer"]>>;

interface Opened {
  readonly run: AnyRun;
  /** Which checkpoint it was opened at. */
  readonly stamp: string;
  writer?: Writer;
}

/** The models that pages use. */
export class Models {
  readonly #open = new Map<string, Opened>();
  readonly #engines = new Map<string, Promise<Engine>>();
  #turn: Promise<unknown> = Promise.resolve();

  /** Takes turns: the runtime uses all threads for one question. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work, work);
    this.#turn = result.catch(() => {});
    return result;
  }

  /** The run, opened as the commands open it: at its best checkpoint, on as many threads as it began with. */
  async #opened(entry: Entry): Promise<Opened> {
    const { id, path, glance, row } = entry;
    const stamp = (glance?.checkpoints ?? []).map(({ step, best }) => `${step}${best}`).join() || `${row.changedMs}`;
    const known = this.#open.get(id);
    this.#open.delete(id);
    if (known && known.stamp === stamp) {
      this.#open.set(id, known);
      return known;
    }
    await known?.writer?.release();
    const opened = { stamp, run: await Run.open(path, { engine: await this.#engine(glance?.environment ?? {}) }) };
    this.#open.set(id, opened);
    await this.#closeOldest();
    return opened;
  }

  async #closeOldest(): Promise<void> {
    for (const [id, { writer }] of [...this.#open].slice(0, -MOST)) {
      this.#open.delete(id);
      await writer?.release();
    }
  }

  #engine({ threads, device }: Readonly<Record<string, unknown>>): Promise<Engine> {
    const settings = {
      threads: typeof threads === "number" ? threads : null,
      device: typeof device === "string" ? (device as EngineSettings["device"]) : undefined,
    };
    const key = JSON.stringify(settings);
    const engine = this.#engines.get(key) ?? defaultEngine(settings);
    this.#engines.set(key, engine);
    return engine;
  }

  /** A run that has a use, in turn with other questions. */
  #using<U extends string, T>(
    entry: Entry,
    use: U,
    work: (run: Extract<AnyRun, Record<U, unknown>>, opened: Opened) => Promise<T>,
  ): Promise<T> {
    return this.#inTurn(async () => {
      const opened = await this.#opened(entry);
      if (!(use in opened.run)) throw new Refusal(409, "conflict", `${entry.row.path} is of kind ${opened.run.kind}`);
      return work(opened.run as Extract<AnyRun, Record<U, unknown>>, opened);
    });
  }

  /** How deep the tokens of a text run. */
  depths(entry: Entry, text: string): Promise<DepthAnswer> {
    return this.#using(entry, "depths", async (run) => {
      const tokens = await run.depths(text);
      return {
        id: entry.id,
        step: run.step,
        cap: run.model.policy.depth,
        causal: run.kind === "language",
        text,
        tokens: tokens.map(({ piece, depth, halting, cosines }) => ({ piece, depth, halting, cosines })),
        trace: traceOf(tokens.map(({ cosines }) => cosines)),
      };
    });
  }

  /** Tables of depth: by kind of token in the run's own text, masked where it was, or by the tags of a treebank. */
  depthTables(entry: Entry, request: DepthTableRequest): Promise<DepthTables> {
    if (entry.row.kind === "language") return this.#causalTables(entry, request);
    const { texts = TEXTS, conllu } = request;
    return this.#using(entry, "depthsByKind", async (run) => {
      const about = { id: entry.id, step: run.step, cap: run.model.policy.depth };
      if (conllu === undefined) {
        const { kinds, trace } = await run.depthsByKind({ texts });
        return { ...about, tables: { kinds }, trace };
      }
      const sentences = parseConllu(conllu.split("\n"), "treebank").slice(0, texts);
      const { upos, deprel, trace } = await run.depthsByTag(sentences);
      return { ...about, tables: { upos, deprel }, trace };
    });
  }

  #causalTables(entry: Entry, { texts = TEXTS, conllu }: DepthTableRequest): Promise<DepthTables> {
    return this.#using(entry, "depths", async (run) => {
      const cap = run.model.policy.depth;
      const steps: (readonly number[])[] = [];
      const read = async (lines: readonly string[]) => {
        const found = await run.depths(lines);
        steps.push(...found.flat().map(({ cosines }) => cosines));
        return found;
      };
      const sentences = conllu === undefined ? [] : parseConllu(conllu.split("\n"), "treebank").slice(0, texts);
      const corpus = String(entry.row.settings.corpus);
      const tables = conllu === undefined ? causalKinds(read, corpus, texts, cap) : causalTags(read, sentences, cap);
      return { id: entry.id, step: run.step, cap, tables: await tables, trace: traceOf(steps) };
    });
  }

  /** Continues a text, line by line of the answer; `signal` ends it. */
  async *generate(entry: Entry, request: GenerateRequest, signal: AbortSignal): AsyncGenerator<GenerateLine> {
    const lines = new Lines<GenerateLine>();
    const done = this.#using(entry, "writer", async (run, opened) => {
      opened.writer ??= await run.writer();
      for await (const line of written(entry, run, opened.writer, request, signal)) lines.push(line);
    });
    done.then(
      () => lines.end(),
      (error: unknown) => lines.fail(error),
    );
    yield* lines.all();
  }

  translate(entry: Entry, { lines, ...how }: TranslateRequest): Promise<TranslateAnswer> {
    return this.#using(entry, "translate", async (run) => ({ translations: await run.translate(lines, how) }));
  }

  fill(entry: Entry, { text, top }: FillRequest): Promise<FillAnswer> {
    return this.#using(entry, "fill", async (run) => {
      const masks = await run.fill(text, { top });
      return { masks: masks.map(({ guesses, depth }) => ({ guesses, depth: depth ?? null })) };
    });
  }

  classify(entry: Entry, { text, second }: ClassifyRequest): Promise<ClassifyAnswer> {
    return this.#using(entry, "predict", async (run) => {
      const [found] = await run.predict([second === undefined ? text : { text, pair: second }]);
      const { label, scores, depths } = found!;
      const said = typeof label === "object" ? label.join(", ") || "none" : label;
      return { task: run.task.name, label: said, scores, depths: depths ?? null };
    });
  }

  /** Gives all memory back. */
  async release(): Promise<void> {
    await this.#inTurn(async () => {
      for (const { writer } of this.#open.values()) await writer?.release();
      this.#open.clear();
    });
  }
}

async function* written(
  { id }: Entry,
  run: Writing,
  writer: Writer,
  request: GenerateRequest,
  signal: AbortSignal,
): AsyncGenerator<GenerateLine> {
  const { tokens: maxTokens = 120, temperature = 0.8, seed = 1, keepMemory: keep, ...how } = request;
  const memory = "memory" in writer ? writer.memory : null;
  const halts = run.kind === "language" && run.settings.halt;
  yield { type: "begin", id, step: run.step, cap: halts ? run.model.policy.depth : null, memory };
  const start = performance.now();
  let [whole, count] = ["", 0];
  for await (const { text, id: token, probability, depth, remembered } of writer.write({
    ...how,
    maxTokens,
    temperature,
    seed,
    keep,
    signal,
  })) {
    whole += text;
    if (token === undefined) continue;
    count++;
    const piece = run.tokenizer.tokenizer.pieceOf(token);
    yield { type: "token", text, piece, probability: probability!, depth: depth ?? null, memory: remembered ?? null };
  }
  const tokensPerSecond = (1000 * count) / (performance.now() - start);
  yield { type: "end", text: whole, tokens: count, tokensPerSecond };
}

/** What one side pushes, and another takes at its own pace. */
class Lines<T> {
  #lines: T[] = [];
  #over: { error?: unknown } | undefined;
  #wake: () => void = () => {};

  push(line: T): void {
    this.#lines.push(line);
    this.#wake();
  }

  end(): void {
    this.#over = {};
    this.#wake();
  }

  fail(error: unknown): void {
    this.#over = { error };
    this.#wake();
  }

  async *all(): AsyncGenerator<T> {
    for (;;) {
      yield* this.#lines.splice(0);
      if (this.#over && "error" in this.#over) throw this.#over.error;
      if (this.#over) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
