/** Halting earlier than in training: which caps and thresholds a model takes, and the same model under them. */
import { reject } from "../../base/errors.ts";
import { check, defined, number, whole } from "../../base/options.ts";
import { albert } from "../../model/albert/albert.ts";
import type { AlbertDescription } from "../../model/albert/description.ts";
import { earlyDepth } from "./tuned-depth.ts";

/** Where tokens halt at the latest, and from which sum of probabilities on. */
export interface EarlyExit {
  /** Deepest depth. Default: the model's. */
  readonly cap?: number | undefined;
  /** A token halts when its probabilities exceed this. Default: as in training. */
  readonly threshold?: number | undefined;
}

/** Whether something is asked for. */
export const exitsEarly = ({ cap, threshold }: EarlyExit): boolean => cap !== undefined || threshold !== undefined;

/** Refuses what a model does not take: one of fixed depth takes nothing. */
export function checkEarlyExit(model: AlbertDescription["model"], exit: EarlyExit, who: string): void {
  const { halting, depth } = model;
  const { cap, threshold } = exit;
  if (!exitsEarly(exit)) return;
  if (threshold !== undefined) check(`${who} / threshold`, threshold, number({ above: 0, below: 1 }));
  if (typeof depth === "string") {
    albert({ ...model, depth: earlyDepth(depth, exit) });
    return;
  }
  if (!halting) {
    const got = `${cap === undefined ? "a threshold" : "a cap"} for one of fixed depth`;
    reject({ who, needed: "a model whose tokens halt", got, remedy: "leave it out" }, 2);
  }
  if (cap !== undefined) check(`${who} / cap`, cap, whole(1, depth));
}

/** The cap that a model is fed: none where its depth says it. */
export const capFed = ({ depth }: Pick<AlbertDescription["model"], "depth">, { cap }: EarlyExit): number | undefined =>
  typeof depth === "string" ? undefined : cap;

/** The uses of a run that always run to the depth of training: where another was asked for, each is refused rather than done otherwise. */
export function atFullDepth<T extends object>(uses: T, exit: EarlyExit, path: string): T {
  if (!exitsEarly(exit)) return uses;
  const refusing = (name: string) => async () => {
    const got = Object.keys(defined(exit)).join(" and ");
    return reject({ who: `${path} / ${name}`, needed: "the depth of training", got: `another ${got}` }, 2);
  };
  const entries = Object.entries(uses).map(([name, use]) => [name, typeof use === "function" ? refusing(name) : use]);
  return Object.fromEntries(entries) as T;
}

/** The description with another threshold; a cap is an input of the model, or said in its depth. */
export function earlyDescription({ model, heads }: AlbertDescription, exit: EarlyExit): AlbertDescription {
  if (typeof model.depth === "string") return { heads, model: { ...model, depth: earlyDepth(model.depth, exit) } };
  const { threshold } = exit;
  if (threshold === undefined) return { model, heads };
  return { heads, model: { ...model, halting: { ...model.halting, epsilon: 1 - threshold } } };
}
