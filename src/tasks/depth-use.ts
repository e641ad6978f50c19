/** Which kinds of runs can be used at another depth than in training; answered from a run's config alone, before its weights are read. */
import { reject } from "../base/errors.ts";
import { defined } from "../base/options.ts";
import type { DepthUse } from "../depth/use.ts";
import { RunFolder } from "../runs/folder.ts";

const tuned: readonly (keyof DepthUse)[] = ["cap", "threshold"];
const written: readonly (keyof DepthUse)[] = ["loops", "cap", "threshold", "exit", "keys"];
/** What may be changed by kind; the depth of a language model or a translation says which of them it has. */
const changed: Readonly<Record<string, readonly (keyof DepthUse)[] | undefined>> = {
  language: written,
  translate: written,
  finetune: tuned,
  head: tuned,
};

/** Refuses what a run does not take. */
export async function checkDepthUse(path: string, kind: string, use: DepthUse): Promise<void> {
  const asked = Object.keys(defined(use)) as (keyof DepthUse)[];
  const stranger = asked.find((each) => !changed[kind]?.includes(each));
  if (stranger) {
    const kinds = Object.entries(changed).flatMap(([name, of]) => (of?.includes(stranger) ? [name] : []));
    const needed = `a run of kind ${kinds.join(", ")} for ${asked.join(", ")}`;
    reject({ who: path, needed, got: kind, remedy: "leave it out" }, 2);
  }
  if (changed[kind] === written || asked.length === 0) return;
  const { checkEarlyExit } = await import("./finetune/early-exit.ts");
  const { parseAlbertRun } = await import("./pretrain/albert-run.ts");
  const { model } = parseAlbertRun((await RunFolder.read(path)).config, `${path}/config.yaml`);
  checkEarlyExit(model, use, path);
}
