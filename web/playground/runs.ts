/** Which runs an exhibit trains: the settings of the command line, out of the address, and a name that follows from them. */
import { computed } from "@preact/signals";
import { numberOf, ownText, plan, textChoice } from "./address.ts";
import type { Exhibit, NamedText, WantedRun } from "./protocol.ts";
import { searchSettingsOf } from "./search-recipe.ts";
import { books } from "./training.ts";

/** Where Holmes begins in the training text. */
const HOLMES = "To Sherlock Holmes she is always";
const KEPT = "layerwise-own-text";

/** A short name for a value: FNV-1a of its JSON. */
function nameOf(value: unknown): string {
  let hash = 0x811c9dc5;
  for (const char of JSON.stringify(value)) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** A long text of the reader's own stays in this browser. */
export const keptText = (): string => ownText.value ?? localStorage.getItem(KEPT) ?? "";
export const keepText = (text: string): void => localStorage.setItem(KEPT, text);

/** The text to train on; undefined until it is there. */
export const text = computed<NamedText | undefined>(() => {
  if (textChoice.value === "own") {
    const content = keptText();
    return { name: `text-${nameOf(content)}.txt`, content };
  }
  const all = books.value?.train;
  if (all === undefined) return undefined;
  const at = all.indexOf(HOLMES);
  if (textChoice.value === "alice") return { name: "alice.txt", content: all.slice(0, at) };
  return { name: "holmes.txt", content: all.slice(at, at + 150_000) };
});

const common = () => ({
  corpus: text.value?.name ?? "",
  pieces: numberOf("pieces"),
  seed: numberOf("seed"),
  steps: numberOf("steps"),
});

/** Rows and tokens of a batch: fewer where the text is short, so that what is held out fills one. */
const shape = () => (isShort() ? { batch: 4, length: 16 } : { batch: 8, length: 32 });
const isShort = () => (text.value?.content.length ?? 0) < 50_000;

const language = () => ({
  ...common(),
  width: numberOf("width"),
  heads: 4,
  ...shape(),
  dropout: 0,
  warmup: Math.min(20, Math.ceil(numberOf("steps") / 5)),
  evaluateEvery: Math.max(5, Math.ceil(numberOf("steps") / 6)),
  checkpointEvery: Math.max(5, Math.ceil(numberOf("steps") / 15)),
  keep: 1,
});

const run = (prefix: string, task: WantedRun["task"], values: WantedRun["values"]): WantedRun => ({
  name: `${prefix}-${nameOf(values)}`,
  task,
  values,
});

/** The shared model and the unshared one of the same depth. */
export const shareRuns = computed((): { shared: WantedRun; unshared: WantedRun } => {
  const each = plan.value.map((_, depth) => depth);
  return {
    shared: run("shared", "language", { ...language(), plan: plan.value.join(",") }),
    unshared: run("unshared", "language", { ...language(), plan: each.join(",") }),
  };
});

/** The search, under its budget where one is set. */
export const searchRun = computed((): WantedRun => {
  const [steps, blocks, budget] = [numberOf("steps"), numberOf("blocks"), numberOf("budget")];
  const batch = isShort() ? 4 : 16;
  return run("search", "search", { ...common(), ...searchSettingsOf({ steps, blocks, budget, batch }) });
});

/** The halting model: depth is learnt first, then its price. */
export const adaptRun = computed((): WantedRun => {
  const steps = numberOf("steps");
  return run("adapt", "language", {
    ...language(),
    depth: numberOf("depth"),
    unique: 1,
    halt: true,
    haltBias: -2,
    accumulateStates: "weightedSum",
    ponder: numberOf("ponder"),
    ponderFrom: Math.ceil(0.3 * steps),
    ponderWarmup: Math.ceil(0.1 * steps),
    schedule: "linear",
    floor: 0,
    weightDecay: 0.01,
    checkpointEvery: Math.max(5, Math.ceil(steps / 20)),
  });
});

/** What an exhibit trains now. */
export function runsOf(exhibit: Exhibit): readonly WantedRun[] {
  if (exhibit === "search") return [searchRun.value];
  if (exhibit === "adapt") return [adaptRun.value];
  const { shared, unshared } = shareRuns.value;
  return shared.name === unshared.name || isUnshared() ? [unshared] : [unshared, shared];
}

const isUnshared = () => new Set(plan.value).size === plan.value.length;
