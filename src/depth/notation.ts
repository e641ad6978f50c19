/** Depth as one line of text: `2 + 4*3 halt + 1` says which blocks there are, how often they run, and who decides how deep; read and printed here. */
import { reject } from "../base/errors.ts";
import { LARGEST } from "../base/limits.ts";
import { nearest } from "../base/nearest.ts";
import { ownWords, type WordForm } from "./own-words.ts";
import { kinds, patternBlocks, printPattern, publishedPatterns } from "./pattern.ts";
import type { Plan } from "./plan.ts";

type Form = WordForm;

interface Word {
  /** The option that may stand first, without its name. */
  readonly first?: string | undefined;
  readonly options: Readonly<Record<string, Form>>;
}

const rules = ["last", "weighted", "quantile", "difference", "agreement", "entropy"];
const sharings = ["own", "first", "last", "running"];

/** The words that may follow blocks, with the options of their policies under the policies' own names. */
const words = {
  halt: {
    options: {
      ponder: "number",
      ponderFrom: "number",
      ponderWarmup: "number",
      biasInitial: "number",
      epsilon: "number",
      accumulate: ["blend", "weightedSum"],
      stepEmbedding: "flag",
      capFrom: "number",
      capOver: "number",
      keys: sharings,
      cap: "number",
    },
  },
  loop: {
    first: "most",
    options: {
      most: "number",
      mean: "number",
      spread: "number",
      from: "number",
      over: "number",
      seed: "number",
      injection: ["none", "add", "linear", "diagonal"],
      gradientLoops: "number",
      use: "number",
    },
  },
  exits: {
    options: {
      gate: "flag",
      every: "number",
      entropy: "number",
      biasInitial: "number",
      rule: rules,
      level: "number",
      keys: sharings,
    },
  },
  route: {
    first: "choice",
    options: {
      choice: ["token", "expert"],
      capacity: "numbers",
      threshold: "number",
      scale: "number",
      balance: "number",
      auxiliary: "number",
      keys: sharings,
      cap: "number",
    },
  },
  drop: {
    first: "dropout",
    options: { dropout: "number", growing: "flag", exitLoss: "number", every: "number", exit: "number", cap: "number" },
  },
  relax: { first: "rank", options: { rank: "number", norms: "flag", biases: "flag", scales: "flag" } },
} as const satisfies Readonly<Record<string, Word>>;

/** A word that comes with the notation. */
export type KnownWord = keyof typeof words;

/** A word that says who decides how deep, or what shared blocks have of their own; or one that was defined. */
export type WordName = KnownWord | (string & {});

/** What is known of a word, ours or one that was defined. */
function wordOf(name: string): Word | undefined {
  if (Object.hasOwn(words, name)) return words[name as KnownWord];
  const own = ownWords.get(name);
  return own && { first: own.first, options: own.options ?? {} };
}

const allWords = () => [...Object.keys(words), ...ownWords.keys()];

/** What an option of a word may be. */
export type WordValue = number | string | true | readonly number[];

/** A word with its options: `loop(8, mean=4)`. */
export interface DepthWord {
  readonly name: WordName;
  readonly options: Readonly<Record<string, WordValue>>;
}

/** Blocks that run one after the other: so many, by a pattern of letters, or whole parts in brackets, which other words see as one block. */
export type Stack = { readonly count: number } | { readonly pattern: string } | { readonly group: Depth };

/** Blocks, how often they run with the same weights, and the words after them. */
export interface DepthPart {
  readonly stack: Stack;
  readonly passes: number;
  readonly words: readonly DepthWord[];
}

/** Parts that run one after the other. */
export type Depth = readonly DepthPart[];

/** Reads `2 + 4*3 halt + 1`; what it cannot read it names, with its place and what may have been meant. */
export function parseDepth(text: string): Depth {
  const reader = new Reader(text);
  const depth = readParts(reader);
  if (reader.take(/$/y) === undefined) {
    reader.refuse("+ and another part, or the end", reader.sees(")") ? "leave out the bracket" : undefined);
  }
  const deepest = executedDepth(depth);
  if (deepest <= LARGEST.depth) return depth;
  return reject({ who: reader.who, needed: `at most ${LARGEST.depth} depths`, got: `${deepest}` }, 2);
}

const published = Object.keys(publishedPatterns).join("|");
const unit = `[${Object.keys(kinds).join("")}](?::[1-9]\\d*)?`;
/** Letters of a pattern as they are everywhere, or the name of one. */
const PATTERN = new RegExp(
  `(?:${published})(?:/\\d+)?|(?:(?:\\((?:${unit}|\\s)+\\)(?:x[1-9]\\d*)?|${unit})\\s*)+(?![a-wyz\\d:])`,
  "y",
);

/** The text, and how far it is read. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get who(): string {
    return `depth ${JSON.stringify(this.#text)}`;
  }

  /** Goes past what comes next, spaces aside, if it has this form. */
  take(form: RegExp): string | undefined {
    while (/\s/.test(this.#text[this.#at] ?? "")) this.#at++;
    form.lastIndex = this.#at;
    const found = form.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  get rest(): string {
    return this.#text.slice(this.#at);
  }

  sees(sign: string): boolean {
    this.take(/(?:)/y);
    return this.#text.startsWith(sign, this.#at);
  }

  /** Goes past a sign, if it comes next. */
  skip(sign: string): boolean {
    const found = this.sees(sign);
    if (found) this.#at += sign.length;
    return found;
  }

  /** What comes next, or, `back` characters before, what was just taken, is not what was needed. */
  refuse(needed: string, remedy?: string, back = 0): never {
    this.take(/(?:)/y);
    const place = this.#at - back;
    const rest = this.#text.slice(place);
    const got = rest === "" ? "its end" : `${JSON.stringify(rest)} at character ${place + 1}`;
    return reject({ who: this.who, needed, got, remedy }, 2);
  }
}

function readParts(reader: Reader): Depth {
  const parts = [readPart(reader)];
  while (reader.skip("+")) parts.push(readPart(reader));
  return parts;
}

function readPart(reader: Reader): DepthPart {
  const stack = readStack(reader);
  if (reader.sees("x")) refuseCross(reader, stack);
  const passes = reader.skip("*") ? readCount(reader, "how often the blocks run, such as 4*3") : 1;
  const found: DepthWord[] = [];
  for (let word = reader.take(WORD); word !== undefined; word = reader.take(WORD)) {
    found.push(readWord(reader, word, { stack, passes, words: found }));
  }
  return { stack, passes, words: found };
}

const WORD = /[a-zA-Z]\w*/y;

function readCount(reader: Reader, needed: string): number {
  return Number(reader.take(/[1-9]\d*(?![\d.])/y) ?? reader.refuse(needed));
}

function readStack(reader: Reader): Stack {
  const pattern = reader.take(PATTERN);
  if (pattern !== undefined) return { pattern: printPattern(patternBlocks(pattern)) };
  if (reader.skip("(")) {
    const group = readParts(reader);
    if (!reader.skip(")"))
      reader.refuse("+ and another part, or )", reader.sees("x") ? "write * for x" : "close the bracket");
    return { group };
  }
  const needed = "blocks: a count such as 4, letters such as (sf)x3, or parts in brackets";
  return { count: readCount(reader, needed) };
}

/** In patterns x writes letters out, each with weights of its own; whole blocks are counted, and share by a *. */
function refuseCross(reader: Reader, stack: Stack): never {
  const times = Number(/^\d+/.exec(reader.rest.slice(1).trim())?.[0] ?? 3);
  const blocks = printStack(stack, true);
  const own =
    "count" in stack
      ? `${stack.count * times}`
      : "group" in stack || stack.pattern.includes("(")
        ? ""
        : `${blocks}x${times}`;
  const remedy = `write ${blocks}*${times} to run them ${times} times with the same weights${own && `, ${own} for weights of their own`}`;
  return reader.refuse("* between blocks and how often they run", remedy);
}

function readWord(reader: Reader, name: string, { stack, passes, words: before }: DepthPart): DepthWord {
  const refuse = (needed: string, remedy?: string) => reader.refuse(needed, remedy, name.length);
  const known = wordOf(name);
  if (!known) {
    const guess = nearest(name, allWords());
    const remedy = guess ? `write ${guess}` : "words of your own are loaded by --import FILE";
    return refuse(`one of ${allWords().join(", ")}`, remedy);
  }
  const policies = before.filter((each) => each.name !== "relax");
  if (name !== "relax" && policies.length > 0) {
    refuse(
      "one word that decides how deep",
      `put brackets around what ${policies[0]!.name} is to decide, then * and ${name}`,
    );
  }
  if (before.some((each) => each.name === name)) refuse("each word once");
  if (name === "relax" && "group" in stack) refuse("relax inside the brackets", "write it after the blocks that share");
  if (name === "loop" && passes > 1) refuse("either * or loop", `leave out *${passes}, or write loop alone`);
  const options = reader.skip("(") ? readOptions(reader, name, known) : {};
  const { first } = known;
  const complete = name === "relax" ? Object.keys(options).length > 0 : options[first!] !== undefined;
  if (name in examples && !complete) reader.refuse(`what ${name} needs, in brackets`, `write ${examples[name]}`);
  return { name, options };
}

/** Of words that cannot stand alone. */
const examples: Readonly<Record<string, string>> = {
  loop: "loop(4)",
  route: "route(token) or route(expert)",
  relax: "relax(8) or relax(norms)",
};

function readOptions(reader: Reader, name: WordName, { first, options: known }: Word): Record<string, WordValue> {
  const found: Record<string, WordValue> = {};
  do {
    const key = reader.take(/[a-zA-Z]\w*(?=\s*[=,)])/y) ?? "";
    const named = Object.hasOwn(known, key);
    const isValue = !named && first !== undefined && Object.keys(found).length === 0 && !reader.sees("=");
    if (isValue) found[first] = readValue(reader, known[first]!, key);
    else if (!named || Object.hasOwn(found, key)) refuseOption(reader, key, known, named);
    else if (known[key] === "flag") found[key] = true;
    else if (!reader.skip("=")) reader.refuse(`= and a value after ${key}`);
    else found[key] = readValue(reader, known[key]!);
  } while (reader.skip(","));
  if (!reader.skip(")")) reader.refuse(`, or ) after an option of ${name}`, "close the bracket");
  return found;
}

function refuseOption(reader: Reader, key: string, known: Word["options"], named: boolean): never {
  const guess = nearest(key, Object.keys(known));
  const needed = named ? `${key} once` : `one of ${Object.keys(known).join(", ")}`;
  return reader.refuse(needed, guess && !named ? `write ${guess}` : undefined, key.length);
}

const NUMBER = /-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?/y;

/** A value of a form; `taken` are letters that were read already. */
function readValue(reader: Reader, form: Form, taken?: string): WordValue {
  if (typeof form === "object") {
    const word = taken || (reader.take(WORD) ?? "");
    if (form.includes(word)) return word;
    const guess = nearest(word, form);
    return reader.refuse(`one of ${form.join(", ")}`, guess && `write ${guess}`, word.length);
  }
  if (taken) return reader.refuse("a number", undefined, taken.length);
  const numbers = [readNumber(reader)];
  while (form === "numbers" && reader.skip("/")) numbers.push(readNumber(reader));
  return form === "numbers" ? numbers : numbers[0]!;
}

const readNumber = (reader: Reader) => Number(reader.take(NUMBER) ?? reader.refuse("a number"));

/** The text that `parseDepth` reads. */
export function printDepth(depth: Depth): string {
  return depth.map(printPart).join(" + ");
}

function printPart({ stack, passes, words: said }: DepthPart): string {
  const blocks = passes === 1 ? printStack(stack) : `${printStack(stack, true)}*${passes}`;
  return [blocks, ...said.map(printWord)].join(" ");
}

/** Letters before a sign, and those that are a group by themselves, stand in brackets of their own. */
function printStack(stack: Stack, signed = false): string {
  if ("group" in stack) {
    const inner = printDepth(stack.group);
    const alone =
      stack.group.length === 1 && "pattern" in stack.group[0]!.stack && inner === stack.group[0]!.stack.pattern;
    return alone ? `(${printStack(stack.group[0]!.stack, true)})` : `(${inner})`;
  }
  if ("count" in stack) return `${stack.count}`;
  return signed && !stack.pattern.includes("(") ? `(${stack.pattern})` : stack.pattern;
}

function printWord({ name, options }: DepthWord): string {
  const { first } = wordOf(name) ?? { first: undefined };
  const named = Object.entries(options).filter(([key]) => key !== first);
  const texts = named.map(([key, value]) => (value === true ? key : `${key}=${printValue(value)}`));
  const all = first !== undefined && options[first] !== undefined ? [printValue(options[first]), ...texts] : texts;
  return all.length > 0 ? `${name}(${all.join(", ")})` : name;
}

const printValue = (value: WordValue) => (typeof value === "object" ? value.join("/") : `${value}`);

/** A depth with other words, in brackets too. */
export function mapWords(depth: Depth, change: (word: DepthWord) => DepthWord): Depth {
  return depth.map((part) => {
    const stack = "group" in part.stack ? { group: mapWords(part.stack.group, change) } : part.stack;
    return { ...part, stack, words: part.words.map(change) };
  });
}

/** The word that decides how deep a part runs, if it has one. */
export const decidingWord = ({ words: said }: DepthPart) => said.find(({ name }) => name !== "relax");

/** How often a part's blocks run at most, in training and in use. */
export function runsOf(part: DepthPart): { trained: number; used: number } {
  const { name, options } = decidingWord(part) ?? { name: undefined, options: {} };
  const trained = name === "loop" ? Number(options.most) : part.passes;
  return { trained, used: name === "loop" ? Number(options.use ?? trained) : trained };
}

/** Blocks that a stack has, of their own weights or by parts within it. */
function blocksOf(stack: Stack): number {
  if ("group" in stack) return executedDepth(stack.group);
  return "count" in stack ? stack.count : patternBlocks(stack.pattern).length;
}

/** Blocks that run at most. */
export function executedDepth(depth: Depth): number {
  return depth.reduce((total, part) => total + blocksOf(part.stack) * runsOf(part).used, 0);
}

/** Which block runs at each depth, at most; blocks are numbered in the order in which they are written. */
export function planOfDepth(depth: Depth): Plan {
  let next = 0;
  const walk = (parts: Depth): number[] =>
    parts.flatMap((part) => {
      const { stack } = part;
      const once = "group" in stack ? walk(stack.group) : Array.from({ length: blocksOf(stack) }, () => next++);
      return Array.from({ length: runsOf(part).used }, () => once).flat();
    });
  return walk(depth);
}

/** Fraction of a part's blocks that run in the mean: known of drawn loops and of capacities, unknown where tokens decide. */
export function meanFraction(part: DepthPart): number | undefined {
  const { name, options } = decidingWord(part) ?? { name: undefined, options: {} };
  const { stack } = part;
  const inner = "group" in stack ? meanOf(stack.group) : 1;
  if (inner === undefined || name === "halt" || name === "exits" || ownWords.has(name ?? "")) return undefined;
  if (name === "loop")
    return options.use ? inner : (inner * Number(options.mean ?? options.most)) / Number(options.most);
  if (name !== "route") return inner;
  if (options.choice === "token") return undefined;
  const depths = "group" in stack ? part.passes : blocksOf(stack) * part.passes;
  const capacity = options.capacity as readonly number[] | undefined;
  return inner * (capacity ? capacity.reduce((a, b) => a + b) / capacity.length : (1 + 1 / depths) / 2);
}

/** The mean over parts, by how many of their blocks run. */
function meanOf(depth: Depth): number | undefined {
  const parts = depth.map((part) => ({ fraction: meanFraction(part), depth: executedDepth([part]) }));
  if (parts.some(({ fraction }) => fraction === undefined)) return undefined;
  return parts.reduce((total, part) => total + part.fraction! * part.depth, 0) / executedDepth(depth);
}
