/** The worker in which the playground trains: the library itself, on run folders that the browser keeps. */
import { languageModel, ortWebEngine, parsePlan, referenceEngine, reportOn } from "../../../src/browser.ts";
import { browserRuns, openJob, perform, Run, RunFolder, search, settingsNamed } from "../../../src/tasks/browser.ts";
import type { Frame, News, Order, Report, WantedRun } from "../protocol.ts";

type Runs = Awaited<ReturnType<typeof browserRuns>>;
type Engine = Awaited<ReturnType<typeof ortWebEngine>>;
type Session = ReturnType<typeof Run.resume>;
type Event = Session extends AsyncIterable<infer E> ? E : never;

const say = (news: News) => postMessage(news);
let runs: Runs | undefined;
let engine: Engine | undefined;
let isStopping = false;
let work: Promise<void> = Promise.resolve();

addEventListener("message", ({ data }: MessageEvent<Order>) => {
  if (data.type === "stop") {
    isStopping = true;
    return;
  }
  work = work.then(() => carryOut(data)).catch((error: unknown) => say({ type: "fault", message: messageOf(error) }));
});

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

async function carryOut(order: Exclude<Order, { type: "stop" }>): Promise<void> {
  switch (order.type) {
    case "open":
      return open(order.books);
    case "train":
      return train(order).finally(() => say({ type: "idle" }));
    case "report":
      return say({ type: "report", reports: Object.fromEntries(Object.entries(order.plans).map(reported)) });
    case "export":
      return exported(order.name, order.as);
    case "write":
      return write(order.name, order.prompt);
    case "upload":
      await runs!.upload(order.bytes, { name: order.file.replace(/\.zip$/i, "").replace(/[^\w-]+/g, "-") });
      return tellRuns();
    case "remove":
      await runs!.remove(order.name);
      return tellRuns();
  }
}

async function open(books: Record<"train" | "valid" | "test", string>): Promise<void> {
  runs = await browserRuns({ books });
  const found = await ortWebEngine().catch((error: unknown) => {
    say({ type: "fault", message: messageOf(error) });
    return { ...referenceEngine(), notice: "the reference engine, which is slow", ownProducts: false };
  });
  engine = found;
  await tellRuns();
  say({ type: "ready", engine: found.name, threads: found.threads, notice: found.notice });
}

async function tellRuns(): Promise<void> {
  const all = await runs!.list();
  const kept = all.map(({ path, step, totalSteps, status, lastLoss }) => {
    return { name: path, step, totalSteps, status, loss: lastLoss };
  });
  say({ type: "runs", runs: kept });
}

interface Going {
  readonly name: string;
  readonly events: AsyncIterator<Event>;
}

/** Trains runs by turns, a step each, so that their curves grow side by side. */
async function train({ runs: wanted, text, sample }: Extract<Order, { type: "train" }>): Promise<void> {
  isStopping = false;
  say({ type: "doing", text: "Reading the text" });
  await runs!.writeText(text.name, text.content);
  let going: Going[] = [];
  for (const each of wanted) going.push(...(await begun(each)));
  try {
    while (going.length > 0 && !isStopping) {
      const left: Going[] = [];
      for (const each of going) if (await stepped(each, sample)) left.push(each);
      going = left;
    }
  } finally {
    for (const { events, name } of going) {
      await events.return?.(); // stops after its step, with a checkpoint
      say({ type: "end", name, finished: false });
    }
    await runs!.keep();
    await tellRuns();
  }
}

/** Begins a run, or goes on with the one of that name; one that has ended only tells what it was. */
async function begun(wanted: WantedRun): Promise<Going[]> {
  const { name } = wanted;
  const known = (await runs!.list()).find(({ path }) => path === name);
  if (known) await tellHistory(name, known.totalSteps);
  if (known?.status === "finished") {
    say({ type: "end", name, finished: true });
    return [];
  }
  say({ type: "doing", text: known ? `Going on after step ${known.step}` : "Preparing tokenizer and model" });
  await breathe();
  const session = known ? Run.resume(name, { engine: engine! }) : await started(wanted);
  return [{ name, events: session[Symbol.asyncIterator]() as AsyncIterator<Event> }];
}

async function started({ name, task, values }: WantedRun): Promise<AsyncIterable<Event>> {
  const into = await Run.create(name);
  if (task === "search") return search({ ...values, engine: engine!, into });
  const schema = await settingsNamed("language");
  const settings = schema.resolve([{ source: "playground", values }]);
  return perform(await openJob(settings as Parameters<typeof openJob>[0], { engine: engine! }), { into });
}

async function tellHistory(name: string, totalSteps: number | null): Promise<void> {
  const events = await (await RunFolder.read(name)).events();
  const losses = events.flatMap((event) => (event.type === "step" ? [event.loss] : []));
  const evaluations = events.filter((event) => event.type === "evaluation");
  const valid = evaluations.map(({ step, loss }) => [step, loss] as const);
  say({ type: "begin", name, totalSteps, losses, valid, frames: evaluations.flatMap(frameOf) });
}

/** One update of a run, and what comes with it; false at its end. */
async function stepped({ name, events }: Going, sample: string | undefined): Promise<boolean> {
  const before = performance.now();
  for (;;) {
    const { value, done } = await events.next();
    if (done) {
      if (sample) await tellDepths(name, sample);
      say({ type: "end", name, finished: true });
      return false;
    }
    if (value.type === "note") say({ type: "doing", text: value.text.split("\n")[0]! });
    if (value.type === "begin") {
      if (value.step === 0)
        say({ type: "begin", name, totalSteps: value.totalSteps, losses: [], valid: [], frames: [] });
      say({ type: "doing", text: "Training" });
    }
    if (value.type === "evaluation") {
      say({ type: "valid", name, step: value.step, loss: value.loss });
      for (const frame of frameOf(value)) say({ type: "frame", name, frame });
    }
    if (value.type === "checkpoint" && sample) await tellDepths(name, sample);
    if (value.type === "step") {
      say({ type: "step", name, step: value.step, loss: value.loss, ms: performance.now() - before });
      await breathe();
      return true;
    }
  }
}

interface Evaluated {
  readonly step: number;
  readonly pattern?: string;
  readonly choices?: Frame["choices"];
  readonly latency?: { readonly expectedMs: number; readonly chosenMs: number };
}

function frameOf({ step, pattern = "", choices, latency }: Evaluated): Frame[] {
  return choices ? [{ step, pattern, choices, expectedMs: latency?.expectedMs, chosenMs: latency?.chosenMs }] : [];
}

/** Lets messages in: WebAssembly of one thread never gives the turn away by itself. */
function breathe(): Promise<void> {
  return new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      done();
    };
    port2.postMessage(undefined);
  });
}

/** How deep the tokens of a text run in the last checkpoint. */
async function tellDepths(name: string, sample: string): Promise<void> {
  const run = await Run.open(name, "language", { checkpoint: "last", engine: engine! });
  const found = await run.depths(sample);
  const cap = run.model.policy.depth ?? Math.max(...found.map(({ depth }) => depth));
  say({ type: "depths", step: run.step, cap, tokens: found.map(({ piece, depth }) => ({ text: piece, depth })) });
}

/** The settings that decide the size of a model. */
interface PlanValues {
  readonly plan: string;
  readonly width: number;
  readonly heads: number;
  readonly length: number;
  readonly pieces: number;
}

function reported([name, values]: [string, WantedRun["values"]]): [string, Report] {
  const { plan, width, heads, length, pieces } = values as unknown as PlanValues;
  const model = languageModel({ vocabulary: pieces, width, heads, length, plan: parsePlan(plan), hidden: 4 * width });
  const { parameters, flopsPerToken, executedDepth, uniqueBlocks } = reportOn(model, { length });
  return [name, { parameters, flopsPerToken, executedDepth, uniqueBlocks }];
}

async function exported(name: string, as: "zip" | "safetensors" | "onnx"): Promise<void> {
  if (as === "zip") return say({ type: "file", name: `${name}.zip`, bytes: await runs!.download(name) });
  const run = await Run.open(name, { engine: engine! });
  if (!("exported" in run)) throw new Error(`${name}: a run of kind ${run.kind} has nothing to export`);
  const files = await run.exported();
  say({ type: "file", name: `${name}.${as}`, bytes: files[`model.${as}`]! });
}

/** Continues a text with a run. */
async function write(name: string, prompt: string): Promise<void> {
  const run = await Run.open(name, { engine: engine! });
  if (!("generate" in run)) throw new Error(`${name}: a run of kind ${run.kind} does not write`);
  let text = prompt;
  for await (const piece of run.generate({ prompt, maxTokens: 60, temperature: 0.8, seed: 1 })) {
    text += piece;
    say({ type: "written", text, done: false });
    await breathe();
  }
  say({ type: "written", text, done: true });
}
