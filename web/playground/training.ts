/** What the worker does, as signals that views follow. */
import { signal } from "@preact/signals";
import testUrl from "../../corpus/books/test.txt?url";
import trainUrl from "../../corpus/books/train.txt?url";
import validUrl from "../../corpus/books/valid.txt?url";
import { announce } from "../parts/announce.ts";
import type { Frame, KeptRun, NamedText, News, Order, Report, TokenDepth, WantedRun } from "./protocol.ts";

/** What is known of a run that is trained here. */
export interface Course {
  readonly totalSteps: number | null;
  readonly losses: readonly number[];
  readonly valid: readonly (readonly [step: number, loss: number])[];
  readonly frames: readonly Frame[];
  readonly ms: readonly number[];
  readonly finished: boolean;
}

export const engine = signal<Extract<News, { type: "ready" }> | undefined>(undefined);
export const kept = signal<readonly KeptRun[]>([]);
export const courses = signal<ReadonlyMap<string, Course>>(new Map());
export const reports = signal<Readonly<Record<string, Report>>>({});
export const depths = signal<
  { readonly step: number; readonly cap: number; readonly tokens: readonly TokenDepth[] } | undefined
>(undefined);
export const written = signal<{ readonly text: string; readonly done: boolean } | undefined>(undefined);
/** What is being done; undefined where nothing is. */
export const doing = signal<string | undefined>("Loading the runtime");
export const fault = signal<string | undefined>(undefined);
/** The texts that come with the page. */
export const books = signal<Readonly<Record<"train" | "valid" | "test", string>> | undefined>(undefined);
export const isTraining = signal(false);

const worker = new Worker(new URL("./worker/worker.ts", import.meta.url), { type: "module" });
worker.onmessage = ({ data }: MessageEvent<News>) => hear(data);
worker.onerror = ({ message }) => {
  fault.value = message || "the worker could not be started";
  doing.value = undefined;
};

export const order = (order: Order): void => worker.postMessage(order);

/** Fetches the texts and opens the runs. */
export async function start(): Promise<void> {
  const [train, valid, test] = await Promise.all([trainUrl, validUrl, testUrl].map(fetched));
  books.value = { train: train!, valid: valid!, test: test! };
  order({ type: "open", books: books.value });
}

async function fetched(url: string): Promise<string> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  return answer.text();
}

/** Where the page notes what it trains: a note that is left says that the tab was closed. */
const NOTE = "layerwise-training";

/** Whether a run was being trained when a tab was closed. */
export const wasLeft = (name: string): boolean => (localStorage.getItem(NOTE) ?? "").split(",").includes(name);

/** Trains runs on a text, from where they were. */
export function train(runs: readonly WantedRun[], text: NamedText, sample?: string): void {
  [fault.value, isTraining.value, doing.value, depths.value] = [undefined, true, "Beginning", undefined];
  localStorage.setItem(NOTE, runs.map(({ name }) => name).join(","));
  order(sample === undefined ? { type: "train", runs, text } : { type: "train", runs, text, sample });
}

const nothing: Course = { totalSteps: null, losses: [], valid: [], frames: [], ms: [], finished: false };

function update(name: string, change: (course: Course) => Partial<Course>): void {
  const course = courses.value.get(name) ?? nothing;
  courses.value = new Map([...courses.value, [name, { ...course, ...change(course) }]]);
}

const SPEEDS = 40;

function hear(news: News) {
  switch (news.type) {
    case "ready":
      [engine.value, doing.value] = [news, undefined];
      return;
    case "runs":
      kept.value = news.runs;
      return;
    case "doing":
      doing.value = news.text;
      return announce(news.text);
    case "begin": {
      const { name, type: _, ...known } = news;
      return update(name, () => ({ ...nothing, ...known }));
    }
    case "step":
      return update(news.name, ({ losses, ms }) => {
        if (news.step % 50 === 0) announce(`step ${news.step}, loss ${news.loss.toFixed(2)}`);
        return { losses: [...losses, news.loss], ms: [...ms.slice(-SPEEDS), news.ms] };
      });
    case "valid":
      return update(news.name, ({ valid }) => ({ valid: [...valid, [news.step, news.loss]] }));
    case "frame":
      return update(news.name, ({ frames }) => ({ frames: [...frames, news.frame] }));
    case "depths":
      depths.value = news;
      return;
    case "end":
      return update(news.name, () => ({ finished: news.finished }));
    case "idle":
      [isTraining.value, doing.value] = [false, undefined];
      localStorage.removeItem(NOTE);
      return announce("Training has ended");
    case "report":
      reports.value = news.reports;
      return;
    case "file":
      return save(news.name, news.bytes);
    case "written":
      written.value = news;
      return;
    case "fault":
      [fault.value, doing.value] = [news.message, undefined];
      return;
  }
}

/** Hands a file to the reader. */
function save(name: string, bytes: Uint8Array): void {
  const url = URL.createObjectURL(new Blob([bytes as BlobPart]));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
