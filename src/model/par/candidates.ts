/** What a searched block may be: attention, feed-forward and identity, and candidates of your own under a letter of their own. */
import { reject } from "../../base/errors.ts";
import { check, checkOptions, whole } from "../../base/options.ts";
import { isOwnLetter, type PatternBlock } from "../../depth/pattern.ts";
import {
  attentionCandidate,
  type Block,
  type Candidate,
  type CandidateKind,
  type CandidateOptions,
  feedForwardCandidate,
  identity as nothing,
} from "../../nn/index.ts";

/** Makes a block under a name, which begins the names of its parameters; `options.width` is the width of its rows. */
export type MakeCandidate = (name: string, options: CandidateOptions) => Block & Pick<Candidate, "residual">;

/** One thing a block may be; sizes default to the model's. */
export interface CandidateChoice {
  kind: CandidateKind;
  /** Of attention. */
  heads?: number | undefined;
  /** Width of a feed-forward layer. */
  hidden?: number | undefined;
  /** Of a candidate of your own: what its maker is told as `size`, and what a pattern shows (`g:64`). */
  size?: number | undefined;
  /** Of a candidate of your own: its name in tables. Default: its letter. */
  name?: string | undefined;
  /** Of a candidate of your own. */
  make?: MakeCandidate | undefined;
}

/** Relative attention over the segment and its memory. */
export const attention = (options: { heads?: number } = {}): CandidateChoice => ({ kind: "attention", ...options });

/** The position-wise feed-forward layer. */
export const feedForward = (options: { hidden?: number } = {}): CandidateChoice => ({
  kind: "feed-forward",
  ...options,
});

/** Nothing: a block that is skipped. */
export const identity: CandidateChoice = { kind: "identity" };

/**
 * A candidate of your own: patterns show it by its letter, tables by its name. `make` returns any block of the model's width; where it
 * has a `residual`, what it adds to its input, blocks are mixed with fewer operations.
 */
export function custom(
  letter: string,
  make: MakeCandidate,
  { name, size }: { name?: string; size?: number } = {},
): CandidateChoice {
  const choice = {
    kind: letter,
    make,
    ...(name === undefined ? {} : { name }),
    ...(size === undefined ? {} : { size }),
  };
  checkChoice(`candidate ${letter}`, choice);
  return choice;
}

/** How a candidate stands in a pattern. */
export function patternBlockOf({ kind, heads, hidden, size }: CandidateChoice): PatternBlock {
  return { kind, size: heads ?? hidden ?? size };
}

/** What a block of a pattern is among candidates: its size is a number of heads, a width, or what its maker takes it for. */
export function choiceOf({ kind, size }: PatternBlock, own: readonly CandidateChoice[] = []): CandidateChoice {
  const { make, name } = own.find((each) => each.make && each.kind === kind) ?? {};
  const ours = { kind, ...(make ? { make } : {}), ...(name === undefined ? {} : { name }) };
  if (size === undefined) return ours;
  if (make) return { ...ours, size };
  return kind === "attention" ? { kind, heads: size } : { kind, hidden: size };
}

/** `attention`, `feed-forward 1024`, `attention 8 heads`, `gated 64`. */
export function candidateName({ kind, heads, hidden, size, name = kind }: CandidateChoice): string {
  if (kind === "attention" && heads !== undefined) return `${kind} ${heads} heads`;
  const shown = kind === "feed-forward" ? hidden : size;
  return shown === undefined ? name : `${name} ${shown}`;
}

/** Makers of our own kinds, by kind. */
type Makers = Readonly<Record<string, (name: string, options: CandidateOptions) => Candidate>>;

const builders: Makers = {
  attention: attentionCandidate,
  "feed-forward": feedForwardCandidate,
  identity: () => nothing,
};
const partNames: Readonly<Record<string, string>> = { "feed-forward": "dense" };

/** Sizes that all candidates of a model share unless they say otherwise. */
export type SharedSizes = Omit<CandidateOptions, "size">;

/** The block of a choice under a name of the form `blocks.3.attention`; `twin` counts earlier choices of its kind, `makers` know ours. */
export function candidateOf(
  block: string,
  choice: CandidateChoice,
  twin: number,
  shared: SharedSizes,
  makers: Makers = builders,
): Candidate {
  const { kind, heads = shared.heads, hidden = shared.hidden, make } = choice;
  const { size } = patternBlockOf(choice);
  const name = `${block}.${partNames[kind] ?? kind}${twin === 0 ? "" : twin + 1}`;
  const options = { ...shared, heads, hidden, size };
  return make ? ownCandidate(kind, make(name, options), size) : makers[kind]!(name, options);
}

/** What a maker made, with the kind and the size under which the search knows it. */
function ownCandidate(kind: CandidateKind, made: ReturnType<MakeCandidate>, size: number | undefined): Candidate {
  const { residual } = made;
  return {
    kind,
    size,
    parameters: made.parameters,
    caches: made.caches,
    apply: (x, context) => made.apply(x, context),
    ...(residual ? { residual: (x, context) => residual.call(made, x, context) } : {}),
  };
}

/** Refuses kinds that nobody can make, and sizes that are none. */
export function checkChoice(who: string, choice: CandidateChoice): void {
  checkOptions(who, choice, ["kind", "heads", "hidden", "size", "name", "make"]);
  const { kind, heads, hidden, size, make } = choice;
  if (make && !isOwnLetter(kind)) {
    const remedy = "s, f and i are ours, x stands in repeats";
    reject({ who, needed: "one letter other than s, f, i and x", got: JSON.stringify(kind), remedy }, 2);
  }
  if (!make && !Object.hasOwn(builders, kind)) {
    const needed = `a candidate of ${Object.keys(builders).join(", ")}`;
    reject({ who, needed, got: `${kind}`, remedy: `or one of your own: custom("g", make)` }, 2);
  }
  for (const [name, value] of Object.entries({ heads, hidden, size })) {
    if (value !== undefined) check(`${who} / ${name}`, value, whole(1));
  }
}
