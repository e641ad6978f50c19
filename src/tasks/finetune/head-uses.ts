/** Runs of heads that tag, answer or choose: examples answered, files evaluated, resumed. */
import { reject } from "../../base/errors.ts";
import { defined } from "../../base/options.ts";
import type { Session } from "../../train/session.ts";
import type { ExportedFiles } from "../exports.ts";
import type { TaskEvent } from "../job.ts";
import { type OpenRun, openRunBase, type ResumeOptions, type StoredRun } from "../open-run.ts";
import { resumeRun } from "../perform.ts";
import { needTokenizer } from "../pretrain/albert-run.ts";
import { type AlbertUses, albertUses } from "../pretrain/uses.ts";
import { adapterFiles } from "./adapter.ts";
import { atFullDepth } from "./early-exit.ts";
import { lengthFor } from "./examples.ts";
import { type Answered, type AnsweringHow, answersAt } from "./head-answers.ts";
import {
  type HeadAnswer,
  type HeadFiles,
  type HeadInput,
  type HeadParts,
  type HeadResult,
  type HeadSpec,
  headJob,
  headTaskOf,
  namedTask,
  openedHead,
  openHead,
  readHeadFile,
} from "./head-job.ts";
import type { GlueSettings } from "./settings.ts";
import { beforeIn, reopenedModel, startOf, storedTuning } from "./tuned-run.ts";
import type { FinetuneFigures } from "./uses.ts";

/** A head's run, opened at a checkpoint. */
export interface HeadRun extends OpenRun<"head", HeadResult>, AlbertUses {
  readonly settings: GlueSettings;
  readonly spec: HeadSpec;
  readonly files: HeadFiles;
  /** What is said about examples: tags per word, an answer, or the place of the right choice. */
  answer(examples: readonly HeadInput[], how?: AnsweringHow): Promise<HeadAnswer[]>;
  /** The same with probabilities, and how deep tokens ran. */
  answered(examples: readonly HeadInput[], how?: AnsweringHow): Promise<Answered<HeadAnswer>[]>;
  /** What `--lora` learnt, as small files for the same model elsewhere; a run that trained all weights refuses. */
  adapter(): Promise<ExportedFiles>;
  /** Figures of the dev file, the train file (`split`), or another (`corpus`). */
  evaluate(how?: HeadEvaluation): Promise<FinetuneFigures>;
}

/** Which examples a run is judged by. */
export interface HeadEvaluation extends AnsweringHow {
  /** train or dev (or valid). Default: dev. */
  readonly split?: string | undefined;
  /** Another file of the same form. */
  readonly corpus?: string | undefined;
}

/** Opens one to use it. */
export async function open(stored: StoredRun): Promise<HeadRun> {
  const { settings, spec, files, origin } = storedHead(stored.config, stored.path);
  const albert = await albertUses(stored, { length: settings.length });
  const { description, weights } = albert;
  const { cap, threshold } = stored.options.use ?? {};
  const answers = async (examples: readonly HeadInput[], how: AnsweringHow = {}) => {
    const model = { description, described: albert, weights, tokenizer: needTokenizer(albert), origin };
    const opened = openedHead({ spec, settings, model, engine: await stored.engine() });
    return answersAt(description, opened, weights, examples, { cap, threshold, ...defined(how) });
  };
  const answered = async (examples: readonly HeadInput[], how?: AnsweringHow) =>
    examples.length === 0 ? [] : [...(await answers(examples, how)).each];
  return {
    ...openRunBase("head", stored, resume),
    ...atFullDepth(albert, { cap, threshold }, stored.path),
    settings,
    spec,
    files,
    answered,
    answer: async (examples, how) => (await answered(examples, how)).map(({ answer }) => answer),
    adapter: async () => {
      const length = lengthFor(settings, { described: albert });
      return adapterFiles(albert, { task: namedTask(spec), head: spec, length });
    },
    evaluate: async ({ split = "dev", corpus, ...how } = {}) => {
      const name = corpus ?? splitOf(split);
      const examples = readHeadFile(corpus ?? files[splitOf(split)], spec);
      const { loss, each, answers: said, msPerText } = await answers(examples, how);
      const figures = { ...headTaskOf(spec).figures(examples, said), ...meanDepth(each) };
      return { task: spec.kind, split: name, texts: examples.length, loss, figures, msPerText };
    },
  };
}

/** The mean over examples, where tokens halt. */
function meanDepth(each: readonly Answered<HeadAnswer>[]): { depth?: number } {
  const depths = each.flatMap(({ depth }) => depth ?? []);
  return depths.length === 0 ? {} : { depth: depths.reduce((a, b) => a + b, 0) / depths.length };
}

function splitOf(split: string): keyof HeadFiles {
  if (split === "train") return split;
  if (split === "dev" || split === "valid") return "dev";
  return reject({ who: "evaluate / split", needed: "train or dev", got: split, remedy: "name a file as corpus" }, 2);
}

function storedHead(yaml: string, path: string) {
  const stored = storedTuning(yaml, path, ["spec", "files"]);
  const { spec, files } = stored.own;
  return { ...stored, spec: spec as HeadSpec, files: files as HeadFiles };
}

/** Goes on with one. */
export function resume(path: string, options: ResumeOptions = {}): Session<TaskEvent, HeadResult> {
  return resumeRun(path, options, async (run, resume, given) => {
    const stored = storedHead(run.config, path);
    const { spec, settings, files } = stored;
    if (!resume) return headJob(await openHead(spec.kind, settings, { ...given, ...files, ...startOf(stored) }));
    const model = await reopenedModel(path, stored, given.tokenizer);
    const [train, dev] = [readHeadFile(files.train, spec), readHeadFile(files.dev, spec)];
    const parts: HeadParts = { spec, settings, model, files, train, dev, engine: given.engine, say: given.say };
    return headJob(parts, await beforeIn(run, resume.progress.step, model.described));
  });
}
