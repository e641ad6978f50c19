/** A depth part by part, as pictures need it: what each part is in words, its letters, and where tokens may stop. */
import {
  type Depth,
  type DepthPart,
  type DepthWord,
  decidingWord,
  executedDepth,
  printDepth,
  runsOf,
  type Stack,
} from "./notation.ts";
import { patternBlocks, printPattern } from "./pattern.ts";

/** A part of a depth. */
export interface PartOutline {
  readonly text: string;
  /** Blocks that run at most. */
  readonly depths: number;
  /** How often the whole part runs with the same weights, at most. */
  readonly passes: number;
  readonly meaning: string;
  /** Depths of the part, from 0, after which a token may stop. */
  readonly stops: readonly number[];
  /** `s`, `f:8` … of each depth; absent of whole blocks. */
  readonly letters?: readonly string[] | undefined;
}

/** The parts of a depth in words. */
export function outlineOf(depth: Depth): PartOutline[] {
  return depth.map((part) => {
    const [depths, passes] = [executedDepth([part]), runsOf(part).used];
    const once = lettersOf(part.stack);
    const letters = once && Array.from({ length: passes }, () => once).flat();
    const stops = stopsOf(part, depths, passes);
    const outline = { text: printDepth([part]), depths, passes, meaning: meaningOf(part, passes), stops };
    return letters ? { ...outline, letters } : outline;
  });
}

function lettersOf(stack: Stack): string[] | undefined {
  return "pattern" in stack ? patternBlocks(stack.pattern).map((block) => printPattern([block])) : undefined;
}

/** After which depths tokens stop: those of brackets only after the whole bracket. */
function stopsOf(part: DepthPart, depths: number, passes: number): number[] {
  const word = decidingWord(part);
  if (word === undefined || !["halt", "exits", "route", "drop"].includes(word.name)) return [];
  const isTraining = word.name === "drop" && word.options.cap === undefined;
  if (isTraining) return [];
  const unit = "group" in part.stack ? depths / passes : 1;
  const every = unit * (word.name === "exits" ? Number(word.options.every ?? 1) : 1);
  return Array.from({ length: depths }, (_, i) => i).filter((i) => (i + 1) % every === 0 || i === depths - 1);
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;

function meaningOf(part: DepthPart, passes: number): string {
  const { stack } = part;
  const count = executedDepth([part]) / passes;
  const blocks = counted(count, "pattern" in stack ? "sublayer" : "block");
  const often = passes === 1 ? blocks : `${blocks}, ${passes} times with the same weights`;
  const inner = "group" in stack ? stack.group.flatMap(({ words }) => words) : [];
  return [often, ...[...inner, ...part.words].map(said)].join("; ");
}

/** What a word does, in a few others. */
function said({ name, options }: DepthWord): string {
  switch (name) {
    case "halt":
      return "every token halts by itself";
    case "exits":
      return `tokens leave at exits, ${options.gate ? "by a trained gate" : `by the rule ${options.rule ?? "last"}`}`;
    case "route":
      return options.choice === "expert" ? "the best tokens go on" : "a router gives every token its depth";
    case "loop":
      return `${options.mean === undefined ? "" : `${options.mean} loops in the mean, `}injection ${options.injection ?? "none"}`;
    case "drop":
      return "depths are dropped in training";
    case "relax":
      return "each visit differs a little";
    default:
      return name;
  }
}
