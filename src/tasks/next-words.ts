/** What to do next with a run, as words of the command line. */
import { RunFolder } from "../runs/folder.ts";
import { parseYaml } from "../runs/settings-file.ts";
import { glueTasks } from "../text/labelled/glue-tasks.ts";
import type { RunKind } from "./run.ts";

type Config = Readonly<Record<string, unknown>>;

const words: Readonly<Record<string, (config: Config) => readonly string[]>> = {
  language: () => ["generate RUN --prompt 'it was'", "eval RUN --split test"],
  translate: () => ["translate RUN < sentences.txt", "translate RUN --score test"],
  pretrain: () => ["depth RUN", "finetune RUN --train train.tsv --dev dev.tsv"],
  imported: () => ["depth RUN", "finetune RUN --train train.tsv --dev dev.tsv"],
  finetune: (config: Config) => ["eval RUN", `predict RUN --text 'a lovely film'${readsPairs(config) ? PAIR : ""}`],
  head: (config: Config) => ["eval RUN", ...headWords(config)],
  search: () => ["retrain RUN"],
  seeds: () => ["retrain RUN"],
  retrain: () => ["generate RUN --prompt 'it was'", "eval RUN --split test"],
} satisfies Partial<Record<RunKind, unknown>>;

const PAIR = " --pair 'I enjoyed it'";

/** What a fine-tuning keeps in config.yaml of its task and its files. */
interface Tuned {
  readonly glueTask?: string;
  readonly textTask?: unknown;
  readonly files?: { readonly task?: string; readonly pair?: string; readonly dev?: string };
  readonly spec?: { readonly kind?: string };
}

const tuned = ({ training }: Config) => (training ?? {}) as Tuned;

/** Whether a run learnt from two texts at a time. */
function readsPairs(config: Config): boolean {
  const { glueTask = "", textTask, files } = tuned(config);
  if (files) return files.task === "pairs" || files.pair !== undefined;
  return textTask === undefined && glueTasks.get(glueTask)?.train.texts.length === 2;
}

/** Tags and answers of a text; choices are asked about in a file, such as the one to judge by. */
function headWords(config: Config): readonly string[] {
  const { spec, files } = tuned(config);
  if (spec?.kind === "tagging") return ["predict RUN --text 'alice went to rome'"];
  if (spec?.kind === "qa") return ["predict RUN --text 'Ann sat in Rome.' --pair 'Where did Ann sit?'"];
  return files?.dev === undefined ? [] : [`predict RUN ${quoted(files.dev)}`];
}

const quoted = (file: string) => (/^[\w./:-]+$/.test(file) ? file : `'${file}'`);

/** Command lines without the program's name, with RUN in the place of the run's folder; `config` is what its config.yaml holds. */
export const nextWords = (
  kind: RunKind | (string & {}) | null,
  config: Readonly<Record<string, unknown>> = {},
): readonly string[] => [...(words[kind ?? ""]?.(config) ?? []), "runs show RUN"];

/** The same of a run folder. */
export async function nextWordsOf(path: string, kind: RunKind): Promise<readonly string[]> {
  const { config } = await RunFolder.read(path);
  return nextWords(kind, parseYaml(config, `${path}/config.yaml`));
}
